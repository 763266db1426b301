; SPDX-License-Identifier: MIT
; Makes 3 n conses and n double-floats, and prints what the collector says that it gave in all, in bytes.
(defun total () (ffi:c-inline () () :unsigned-long "(unsigned long)GC_get_total_bytes()" :one-liner t))

(defun work (n)
  (let ((all nil))
    (dotimes (i n) (push (list i (float (1+ i) 1d0)) all))
    (format t "total ~a~%" (if all (total) 0))))
