"""Recognition: text out of pictures and sound, by engines that run in processes of their own."""
