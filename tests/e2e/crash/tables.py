"""Reads whole tables of a BigQuery REST service, through restarts of it."""
import json
import time
import urllib.error
import urllib.request

PAGE_ROWS = 50_000


class Tables:
    def __init__(self, bigquery, project, dataset):
        self._bigquery = bigquery  # has .bigquery, host:port
        self._project = project
        self._dataset = dataset

    def _call(self, path, body=None):
        url = "http://{}/bigquery/v2/projects/{}/datasets{}".format(self._bigquery.bigquery, self._project, path)
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data=data, headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as reply:
            return json.load(reply)

    def create_dataset(self):
        self._call("", {"datasetReference": {"projectId": self._project, "datasetId": self._dataset}})

    def count(self, table):
        """The number of rows; 0 when there is no such table, None when nothing answers."""
        try:
            return int(self._call("/{}/tables/{}/data?maxResults=1".format(self._dataset, table))["totalRows"])
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return 0
            raise
        except OSError:
            return None

    def rows(self, table):
        """All rows, as lists of strings in the order of the columns."""
        rows = []
        token = ""
        while True:
            page = self._call("/{}/tables/{}/data?maxResults={}{}".format(
                self._dataset, table, PAGE_ROWS, "&pageToken=" + token if token else ""))
            rows.extend([cell["v"] for cell in row["f"]] for row in page.get("rows", ()))
            token = page.get("pageToken", "")
            if not token:
                return rows
            time.sleep(0)
