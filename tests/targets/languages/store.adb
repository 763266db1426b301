--  SPDX-License-Identifier: MIT
with Ada.Containers.Vectors;
package body Store is
   package Numbers is new Ada.Containers.Vectors (Positive, Long_Float);
   List : Numbers.Vector;
   procedure Leak (N : Positive) is
      procedure Nested is
      begin
         Rows := new Table (1 .. N);
      end Nested;
   begin
      Last := new Node;
      Last.Value := N;
      Nested;
      for I in 1 .. N loop
         List.Append (Long_Float (I));
      end loop;
   end Leak;
   package body Inner is
      function "+" (L, R : Node) return Ref is
         Sum : constant Ref := new Node;
      begin
         Sum.Value := L.Value + R.Value;
         return Sum;
      end "+";
   end Inner;
end Store;
