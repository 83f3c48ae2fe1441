"""The composition root: Settings → Clew, the library's public class. Only this module names a backend."""
