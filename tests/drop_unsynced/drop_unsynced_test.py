"""Tests of drop_unsynced: what a killed program had not synced is gone, and what it had is there.

usage: drop_unsynced_test.py LIBRARY RESTORE
Each test runs a few lines of Python under the library; they end in SIGKILL.
"""
import os
import subprocess
import sys
import tempfile
import unittest

LIBRARY, RESTORE = sys.argv[1:3]

# put() with sync=True syncs the file and its folder.
PRELUDE = """
import os, signal
def sync_dir(path):
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(fd)
    os.close(fd)
def put(path, data, flags=os.O_WRONLY | os.O_CREAT | os.O_APPEND, sync=False):
    fd = os.open(path, flags, 0o644)
    os.write(fd, data)
    if sync:
        os.fsync(fd)
        sync_dir(os.path.dirname(path) or '.')
    return fd
"""


class DropUnsyncedTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = os.path.join(self.folder.name, "root")
        self.journal = os.path.join(self.folder.name, "journal")
        os.mkdir(self.root)
        os.mkdir(self.journal)

    def tearDown(self):
        self.folder.cleanup()

    def run_killed(self, code, **more):
        environment = dict(os.environ, LD_PRELOAD=LIBRARY, DROP_UNSYNCED_ROOT=self.root,
                           DROP_UNSYNCED_JOURNAL=self.journal, PYTHONDONTWRITEBYTECODE="1", **more)
        killed = subprocess.run([sys.executable, "-c", PRELUDE + code + "\nos.kill(os.getpid(), signal.SIGKILL)"],
                                cwd=self.root, env=environment)
        self.assertEqual(killed.returncode, -9)

    def restore(self, *flags):
        subprocess.run([RESTORE, "--root", self.root, "--journal", self.journal, *flags], check=True,
                       stdout=subprocess.DEVNULL)
        self.assertEqual(os.listdir(self.journal), [])

    def files(self):
        found = {}
        for folder, _, names in os.walk(self.root):
            for name in names:
                path = os.path.join(folder, name)
                with open(path, "rb") as f:
                    found[os.path.relpath(path, self.root)] = f.read()
        return found

    def put(self, name, data):
        with open(os.path.join(self.root, name), "wb") as f:
            f.write(data)

    def test_appends_after_the_last_sync_are_dropped(self):
        self.run_killed("fd = put('log', b'one', sync=True); os.write(fd, b'two'); os.write(fd, b'three')")
        self.assertEqual(self.files(), {"log": b"onetwothree"})
        self.restore()
        self.assertEqual(self.files(), {"log": b"one"})

    def test_fdatasync_covers_all_before_it(self):
        self.run_killed("fd = put('log', b'one'); sync_dir('.'); os.write(fd, b'two'); os.fdatasync(fd); os.write(fd, b'x')")
        self.restore()
        self.assertEqual(self.files(), {"log": b"onetwo"})

    def test_a_sync_of_another_file_covers_nothing(self):
        self.put("a", b"")
        self.run_killed("put('a', b'lost'); put('b', b'kept', sync=True)")
        self.restore()
        self.assertEqual(self.files(), {"a": b"", "b": b"kept"})

    def test_overwritten_bytes_come_back(self):
        self.put("db", b"0123456789")
        self.run_killed("fd = os.open('db', os.O_RDWR); os.pwrite(fd, b'AB', 2); os.fsync(fd)\n"
                        "os.pwrite(fd, b'xyz', 1); os.pwrite(fd, b'!', 2); os.pwritev(fd, [b'e', b'nd'], 9)")
        self.assertEqual(self.files(), {"db": b"0x!z45678end"})
        self.restore()
        self.assertEqual(self.files(), {"db": b"01AB456789"})

    def test_truncation_comes_back(self):
        self.put("db", b"0123456789")
        self.put("whole", b"old")
        self.run_killed("fd = os.open('db', os.O_WRONLY); os.ftruncate(fd, 3); os.write(fd, b'zz')\n"
                        "put('whole', b'new', os.O_WRONLY | os.O_TRUNC)")
        self.assertEqual(self.files(), {"db": b"zz2", "whole": b"new"})
        self.restore()
        self.assertEqual(self.files(), {"db": b"0123456789", "whole": b"old"})

    def test_extension_is_cut_off(self):
        self.put("db", b"01")
        self.run_killed("fd = os.open('db', os.O_RDWR); os.ftruncate(fd, 8); os.posix_fallocate(fd, 0, 16)")
        self.restore()
        self.assertEqual(self.files(), {"db": b"01"})

    def test_rename_without_a_sync_of_the_folder_is_undone(self):
        self.put("catalog", b"old")
        self.run_killed("put('catalog.tmp', b'new', sync=True); os.rename('catalog.tmp', 'catalog')")
        self.restore()
        self.assertEqual(self.files(), {"catalog": b"old", "catalog.tmp": b"new"})

    def test_rename_with_a_sync_of_the_folder_stays(self):
        self.put("catalog", b"old")
        self.run_killed("put('catalog.tmp', b'new', sync=True); os.rename('catalog.tmp', 'catalog'); sync_dir('.')")
        self.restore()
        self.assertEqual(self.files(), {"catalog": b"new"})

    def test_rename_of_an_unsynced_file_loses_its_bytes(self):
        self.put("catalog", b"old")
        self.run_killed("put('catalog.tmp', b'new'); os.rename('catalog.tmp', 'catalog'); sync_dir('.')")
        self.restore()
        self.assertEqual(self.files(), {"catalog": b""})

    def test_removal_without_a_sync_of_the_folder_is_undone(self):
        self.put("a", b"a")
        self.put("b", b"b")
        self.run_killed("os.remove('a'); sync_dir('.'); os.unlink('b'); put('b', b'new')")
        self.restore()
        self.assertEqual(self.files(), {"b": b"b"})

    def test_a_new_name_is_synced_with_its_folder_alone(self):
        self.run_killed("os.mkdir('d'); put('d/c', b'c', sync=True); os.fsync(put('a', b'a'))")
        self.restore()
        self.assertEqual(self.files(), {os.path.join("d", "c"): b"c"})  # a folder that is not empty stays

    def test_with_a_seed_a_prefix_of_the_unsynced_writes_stays(self):
        seen = set()
        for seed in range(1, 30):
            self.run_killed("fd = put('log', b'one', sync=True); os.write(fd, b'two'); os.write(fd, b'three')")
            self.restore("--seed", str(seed))
            content = self.files()["log"]
            self.assertTrue(b"onetwothree".startswith(content) and len(content) >= 3, content)
            seen.add(content)
            os.remove(os.path.join(self.root, "log"))
        self.assertGreater(len(seen), 4)

    def test_a_disk_that_lies_keeps_nothing(self):
        self.put("log", b"old")
        self.run_killed("put('log', b'one', sync=True)", DROP_UNSYNCED_LIE="1")
        self.restore()
        self.assertEqual(self.files(), {"log": b"old"})

    def test_what_is_written_while_a_sync_runs_is_not_covered_by_it(self):
        self.run_killed("import threading, time\n"
                        "fd = put('log', b'one'); sync_dir('.')\n"
                        "syncing = threading.Thread(target=os.fsync, args=(fd,)); syncing.start()\n"
                        "time.sleep(0.3); os.write(fd, b'two'); syncing.join()", DROP_UNSYNCED_SYNC_MS="1000")
        self.restore()
        self.assertEqual(self.files(), {"log": b"one"})

    def test_files_elsewhere_are_left_alone(self):
        outside = os.path.join(self.folder.name, "outside")
        self.run_killed("put({!r}, b'kept')".format(outside))
        self.restore()
        with open(outside, "rb") as f:
            self.assertEqual(f.read(), b"kept")

    def test_a_torn_journal_is_read_up_to_the_tear(self):
        self.run_killed("fd = put('log', b'one', sync=True); os.write(fd, b'two')")
        with open(os.path.join(self.journal, "records"), "ab") as f:
            f.write(b"LNRJ")
        self.restore()
        self.assertEqual(self.files(), {"log": b"one"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
