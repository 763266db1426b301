--  SPDX-License-Identifier: MIT
with Store; use Store;
procedure Leaks is
   One : Node;
   Two : Ref;
begin
   for I in 1 .. 5 loop
      Leak (10 * I);
   end loop;
   One := Last.all;
   Two := Inner."+" (One, One);
   if Two.Value = 7 then
      Last := Two;
   end if;
end Leaks;
