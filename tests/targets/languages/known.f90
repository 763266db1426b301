! SPDX-License-Identifier: MIT
! Allocates by itself and through the runtime library.
module rows
contains
  subroutine fill(n)
    integer, intent(in) :: n
    character(len=:), allocatable :: text
    real(8), pointer :: kept(:)
    integer :: unit
    allocate(kept(163))
    kept = n
    text = repeat('x', n) // 'y'
    open(newunit=unit, status='scratch')
    write(unit, *) text, sum(kept)
    if (n < 3) close(unit)
  end subroutine
end module
program known
  use rows
  integer :: i
  do i = 1, 5
    call fill(i)
  end do
end program
