--  SPDX-License-Identifier: MIT
--  Allocates in a package, in a nested procedure, in an operator, and in an instance of a generic package.
package Store is
   type Node is record
      Value : Integer;
      Pad   : String (1 .. 52);
   end record;
   type Ref is access Node;
   type Table is array (Positive range <>) of Long_Float;
   type Table_Ref is access Table;
   procedure Leak (N : Positive);
   package Inner is
      function "+" (L, R : Node) return Ref;
   end Inner;
   Last : Ref;
   Rows : Table_Ref;
end Store;
