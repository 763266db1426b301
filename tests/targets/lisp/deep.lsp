; SPDX-License-Identifier: MIT
; Calls itself n times, and makes a cons on the way back.
(defun deep (n) (if (= n 0) nil (cons n (deep (1- n)))))
(defun work (n) (deep n))
