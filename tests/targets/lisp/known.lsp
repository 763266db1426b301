; SPDX-License-Identifier: MIT
; A program whose allocations can be counted by reading it: (work n) makes 10 n conses, 5 n double-floats, 3 n structures
; and n instances, each in a function of its own.
(defstruct node value next)
(defclass point () ((x :initarg :x)))

(defun make-conses (n)
  (let ((all nil))
    (dotimes (i n) (setq all (cons i all)))
    all))

(defun make-floats (n)
  (let ((x nil)) ; a number here is made anew in each call by newer versions
    (dotimes (i n) (setq x (float (1+ i) 1d0)))
    x))

(defun make-nodes (n)
  (let ((all nil))
    (dotimes (i n) (setq all (make-node :value i :next all)))
    all))

(defun make-points (n)
  (let ((last nil))
    (dotimes (i n) (setq last (make-instance 'point :x i)))
    last))

(defun work (n)
  (make-conses (* 10 n))
  (make-floats (* 5 n))
  (make-nodes (* 3 n))
  (make-points n)
  nil)
