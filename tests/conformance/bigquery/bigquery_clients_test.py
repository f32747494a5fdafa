"""google-cloud-bigquery and google-cloud-bigquery-storage against bigquery_server, and kill -9 during appends."""
import datetime
import decimal
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

import grpc
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import bigquery, bigquery_storage_v1
from google.cloud.bigquery_storage_v1 import types
from google.cloud.bigquery_storage_v1.services.big_query_write.transports import BigQueryWriteGrpcTransport
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

SERVER = os.environ["BIGQUERY_SERVER"]
Field = descriptor_pb2.FieldDescriptorProto


class Server:
    def __init__(self, data_dir):
        self.data_dir = pathlib.Path(data_dir)
        self.start()

    def start(self):
        ready = self.data_dir / "ready.json"
        ready.unlink(missing_ok=True)
        self.process = subprocess.Popen([SERVER, "--data-dir", str(self.data_dir / "data"), "--ready-file", str(ready)])
        deadline = time.monotonic() + 60
        while not ready.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("bigquery_server did not start")
            time.sleep(0.01)
        addresses = json.loads(ready.read_text())
        self.rest, self.grpc = addresses["bigquery"], addresses["bigquery-grpc"]

    def client(self):
        return bigquery.Client(project="p", credentials=AnonymousCredentials(),
                               client_options={"api_endpoint": f"http://{self.rest}"})

    def write_client(self):
        return bigquery_storage_v1.BigQueryWriteClient(
            transport=BigQueryWriteGrpcTransport(channel=grpc.insecure_channel(self.grpc)))

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        self.process.terminate()
        if self.process.wait(timeout=30) != 0:
            raise RuntimeError("bigquery_server did not stop cleanly")


def row_class():
    file = descriptor_pb2.FileDescriptorProto(name="row.proto", package="rows", syntax="proto2")
    message = file.message_type.add(name="Row")
    message.field.add(name="id", number=1, type=Field.TYPE_INT64, label=Field.LABEL_OPTIONAL)
    message.field.add(name="name", number=2, type=Field.TYPE_STRING, label=Field.LABEL_OPTIONAL)
    message.field.add(name="at", number=3, type=Field.TYPE_INT64, label=Field.LABEL_OPTIONAL)
    message.field.add(name="parts", number=4, type=Field.TYPE_MESSAGE, label=Field.LABEL_REPEATED, type_name=".rows.Row.Part")
    part = message.nested_type.add(name="Part")
    part.field.add(name="sku", number=1, type=Field.TYPE_STRING, label=Field.LABEL_OPTIONAL)
    part.field.add(name="counts", number=2, type=Field.TYPE_INT64, label=Field.LABEL_REPEATED)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("rows.Row"))


Row = row_class()
TABLE = "projects/p/datasets/d/tables/t"


def append(stream, rows, offset=None, schema=False):
    data = types.AppendRowsRequest.ProtoData(
        rows=types.ProtoRows(serialized_rows=[row.SerializeToString() for row in rows]))
    if schema:
        descriptor = descriptor_pb2.DescriptorProto()
        Row.DESCRIPTOR.CopyToProto(descriptor)
        data.writer_schema = types.ProtoSchema(proto_descriptor=descriptor)
    request = types.AppendRowsRequest(write_stream=stream, proto_rows=data)
    if offset is not None:
        request.offset = offset
    return request


class BigQueryTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="bigquery_clients_")
        self.server = Server(self.directory)
        self.client = self.server.client()
        self.client.create_dataset("d")

    def tearDown(self):
        self.server.stop()
        shutil.rmtree(self.directory)

    def make_table(self):
        field = bigquery.SchemaField
        table = bigquery.Table("p.d.t", schema=[
            field("id", "INTEGER", "REQUIRED"), field("name", "STRING"), field("at", "TIMESTAMP"),
            field("parts", "RECORD", "REPEATED", fields=[field("sku", "STRING"), field("counts", "INTEGER", "REPEATED")])])
        table.time_partitioning = bigquery.TimePartitioning(field="at")
        table.clustering_fields = ["name"]
        table.description = "parts"
        table.labels = {"team": "a"}
        return self.client.create_table(table)

    def rows(self, sql, **options):
        return [dict(row) for row in self.client.query(sql, **options).result()]

    def test_tables(self):
        made = self.make_table()
        table = self.client.get_table("p.d.t")
        self.assertEqual(table.schema, made.schema)
        self.assertEqual((table.time_partitioning.field, table.clustering_fields, table.description, table.labels),
                         ("at", ["name"], "parts", {"team": "a"}))
        table.schema = list(table.schema) + [bigquery.SchemaField("more", "NUMERIC")]
        table.description = None
        table = self.client.update_table(table, ["schema", "description"])
        self.assertEqual(table.schema[-1].name, "more")
        self.assertIsNone(table.description)
        self.assertEqual([t.table_id for t in self.client.list_tables("d")], ["t"])
        with self.assertRaises(exceptions.Conflict):
            self.client.create_table("p.d.t")
        with self.assertRaises(exceptions.NotFound):
            self.client.get_table("p.d.nope")
        self.client.delete_table("p.d.t")
        with self.assertRaises(exceptions.NotFound):
            self.client.get_table("p.d.t")

    def test_insert_and_query(self):
        self.make_table()
        rows = [{"id": i, "name": f"n{i % 3}", "at": "2024-01-02T03:04:05Z",
                 "parts": [{"sku": "a", "counts": [i, i + 1]}]} for i in range(1000)]
        self.assertEqual(self.client.insert_rows_json("p.d.t", rows), [])
        self.assertEqual(self.client.insert_rows_json("p.d.t", [{"id": "x"}])[0]["errors"][0]["reason"], "invalid")
        self.assertEqual(self.client.get_table("p.d.t").num_rows, 1000)
        listed = [dict(row) for row in self.client.list_rows("p.d.t", page_size=300)]
        self.assertEqual(len(listed), 1000)
        self.assertEqual(listed[0], {"id": 0, "name": "n0", "parts": [{"sku": "a", "counts": [0, 1]}],
                                     "at": datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)})
        self.assertEqual(self.rows("SELECT name, COUNT(*) AS n, SUM(id) AS s FROM `p.d.t` GROUP BY name ORDER BY name"),
                         [{"name": f"n{k}", "n": len(range(k, 1000, 3)), "s": sum(range(k, 1000, 3))} for k in range(3)])
        self.assertEqual(self.rows("SELECT SUM(c) AS s FROM d.t, UNNEST(parts) AS part, UNNEST(part.counts) AS c WHERE id < 2"),
                         [{"s": 4}])
        pages = self.client.query("SELECT id FROM d.t ORDER BY id").result(page_size=400)
        self.assertEqual([row["id"] for row in pages], list(range(1000)))
        self.assertEqual([dict(r) for r in self.client.query_and_wait("SELECT 1 AS x")], [{"x": 1}])

    def test_parameters_dry_run_and_jobs(self):
        config = bigquery.QueryJobConfig(query_parameters=[
            bigquery.ScalarQueryParameter("at", "TIMESTAMP", datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)),
            bigquery.ArrayQueryParameter("ids", "INT64", [1, 2]),
            bigquery.ScalarQueryParameter("n", "NUMERIC", decimal.Decimal("1.5"))])
        self.assertEqual(self.rows("SELECT @at AS at, @ids AS ids, @n AS n", job_config=config),
                         [{"at": datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc), "ids": [1, 2],
                           "n": decimal.Decimal("1.5")}])
        config = bigquery.QueryJobConfig(query_parameters=[bigquery.ScalarQueryParameter(None, "STRING", "a'b")])
        self.assertEqual(self.rows("SELECT ? AS s", job_config=config), [{"s": "a'b"}])
        dry = self.client.query("SELECT 1 AS x", job_config=bigquery.QueryJobConfig(dry_run=True))
        self.assertEqual((dry.state, dry.schema[0].name), ("DONE", "x"))
        job = self.client.query("SELECT 7 AS x")
        job.result()
        self.assertEqual(self.client.get_job(job.job_id).statement_type, "SELECT")
        self.assertIn(job.job_id, [j.job_id for j in self.client.list_jobs()])
        config = bigquery.QueryJobConfig(destination="p.d.made", default_dataset="p.d")
        self.client.query("SELECT 5 AS x", job_config=config).result()
        self.assertEqual(self.rows("SELECT x FROM made", job_config=bigquery.QueryJobConfig(default_dataset="p.d")), [{"x": 5}])

    def test_errors(self):
        for sql, kind, text in (("SELECT * FROM d.nope", exceptions.NotFound, "Not found: Table p:d.nope"),
                                ("SELECT nope", exceptions.BadRequest, "Unrecognized name"),
                                ("SELECT (", exceptions.BadRequest, "Syntax error"),
                                ("SELECT ST_GEOGPOINT(1, 2)", exceptions.BadRequest, "")):
            with self.assertRaises(kind) as caught:
                self.client.query(sql).result()
            self.assertIn(text, str(caught.exception))

    def test_storage_write(self):
        self.make_table()
        client = self.server.write_client()
        stream = client.create_write_stream(
            parent=TABLE, write_stream=types.WriteStream(type_=types.WriteStream.Type.COMMITTED)).name
        rows = [Row(id=i, name=f"n{i}", at=1_700_000_000_000_000 + i, parts=[Row.Part(sku="s", counts=[1, 2])])
                for i in range(10)]
        answers = list(client.append_rows(iter([append(stream, rows[:6], 0, schema=True), append(stream, rows[6:], 6),
                                                append(stream, rows[6:], 6)])))
        self.assertEqual([a.append_result.offset for a in answers[:2]], [0, 6])
        self.assertEqual(answers[2].error.code, grpc.StatusCode.ALREADY_EXISTS.value[0])
        self.assertEqual(client.finalize_write_stream(name=stream).row_count, 10)
        list(client.append_rows(iter([append(TABLE + "/_default", [Row(id=10)], schema=True)])))
        self.assertEqual(self.rows("SELECT COUNT(*) AS n, SUM(ARRAY_LENGTH(parts)) AS p FROM d.t"), [{"n": 11, "p": 10}])

    def test_kill_during_appends(self):
        """After every kill -9 the rows are exactly those below the stream's offset, and all that was acknowledged."""
        self.make_table()
        rng = random.Random(7)
        stream = self.server.write_client().create_write_stream(
            parent=TABLE, write_stream=types.WriteStream(type_=types.WriteStream.Type.COMMITTED)).name
        acknowledged = 0
        for _ in range(20):
            client = self.server.write_client()
            offset = next_offset = acknowledged
            sizes = [rng.randint(1, 40) for _ in range(100_000)]

            def requests(start):
                at, first = start, True
                for size in sizes:
                    yield append(stream, [Row(id=i, name=f"n{i}") for i in range(at, at + size)], at, schema=first)
                    at, first = at + size, False

            killer = threading.Timer(rng.uniform(0.02, 0.4), self.server.kill)
            # A batch that was committed but not acknowledged is there already: ask where the stream is.
            probe = list(client.append_rows(iter([append(stream, [Row(id=-1)], 10**12, schema=True)])))[0]
            expected = int(probe.error.message.split("expected offset ")[1].split(",")[0])
            self.assertGreaterEqual(expected, acknowledged)
            acknowledged = offset = expected
            killer.start()
            try:
                for answer, size in zip(client.append_rows(requests(offset), retry=None), sizes):
                    self.assertEqual(answer.append_result.offset, offset)
                    offset += size
                    acknowledged = offset
            except (exceptions.GoogleAPICallError, grpc.RpcError):
                pass
            killer.join()
            self.server.start()
            self.client = self.server.client()
            [found] = self.rows("SELECT COUNT(*) AS n, COUNT(DISTINCT id) AS ids, MIN(id) AS low, MAX(id) AS high FROM d.t")
            if found["n"]:
                self.assertEqual((found["ids"], found["low"], found["high"]), (found["n"], 0, found["n"] - 1))
            self.assertGreaterEqual(found["n"], acknowledged)
            probe = list(self.server.write_client().append_rows(
                iter([append(stream, [Row(id=-1)], 10**12, schema=True)])))[0]
            self.assertIn(f"expected offset {found['n']},", probe.error.message)
        self.assertGreater(acknowledged, 0)


if __name__ == "__main__":
    unittest.main()
