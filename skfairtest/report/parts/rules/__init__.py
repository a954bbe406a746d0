"""Groups that rules describe, each compared with everything else: what several parts share."""
