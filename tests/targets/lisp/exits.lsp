; SPDX-License-Identifier: MIT
; Functions that are left in other ways than by returning; each makes one cons for each time that it is called.
(declaim (notinline thrower guarded escaper failing))

(defun thrower (n) (let ((x (cons n n))) (throw 'out x)))

(defun guarded (n) (unwind-protect (thrower n) (setf *print-base* (car (cons 10 n)))))

(defun escaper (n)
  (dolist (x '(1 2 3))
    (when (= x 2) (return-from escaper (cons n x)))))

(defun failing (n)
  (handler-case (error "number ~a" n)
    (error () (cons n n))))

(defun work (n)
  (dotimes (i n) (catch 'out (guarded i)))
  (dotimes (i n) (escaper i))
  (dotimes (i n) (failing i)))
