"""A Slurm of many nodes with accounting: slurmdbd, and MariaDB for it. By hand, as root: slurm_accounting.py FOLDER NODES

Jobs are forgotten by slurmctld after two seconds: what became of them is known to slurmdbd alone. Only the account `lab` may submit.
Packages besides those of slurm_rig.py: slurmdbd, mariadb-server-core.
"""
import os
import shutil
import subprocess

import slurm_rig

NEEDED = ("slurmdbd", "mariadbd", "sacct", "sacctmgr")
SYSTEM_TABLES = "/usr/share/mysql/mysql_system_tables.sql"

CONF = """AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort={port}
AccountingStoragePass={folder}/munge
AccountingStorageEnforce=associations,limits
JobAcctGatherType=jobacct_gather/linux
MinJobAge=2
"""

DBD_CONF = """AuthType=auth/munge
AuthInfo=socket={folder}/munge
DbdHost=localhost
DbdPort={port}
SlurmUser=root
PidFile={folder}/dbd.pid
LogFile={folder}/dbd.log
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={database}
StorageUser=root
StorageLoc=wattlaw
"""


def why_not():
    """Why no such rig can be started here; None: one can."""
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    missing = [name for name in NEEDED if not shutil.which(name, path=path)]
    missing += [] if os.path.exists(SYSTEM_TABLES) else [SYSTEM_TABLES]
    return f"{', '.join(missing)}: not installed" if missing else slurm_rig.why_not()


class Rig(slurm_rig.Rig):
    def __init__(self, nodes, folder=None, more=""):
        port, self.database = slurm_rig.free_ports(2)
        folder = folder or slurm_rig.new_folder()
        super().__init__(nodes, folder, CONF.format(folder=folder, port=port) + more)
        self.write("slurmdbd.conf", DBD_CONF.format(folder=folder, port=port, database=self.database).encode(), 0o600)

    def start_controller(self, *options):
        """Of the daemons slurmctld alone is restarted: the first start brings up what it reports to."""
        if "dbd" not in self.daemons:
            self.start_database()
            self.start_dbd()
            self.ask("sacctmgr", "-i", "add", "cluster", "wattlaw")
            self.ask("sacctmgr", "-i", "add", "account", "lab")
            self.associate()
        super().start_controller(*options)

    def associate(self):
        """What the controller learns of users from the database when it starts."""
        self.ask("sacctmgr", "-i", "add", "user", "root", "account=lab", "defaultaccount=lab")

    def start_database(self):
        """Made as mariadb-install-db does it, which is not in the package of the server alone; slurmdbd needs stored procedures."""
        options = ["--no-defaults", "--user=root", f"--datadir={self.path('database')}", "--innodb-buffer-pool-size=16M",
                   "--innodb-log-file-size=4M", "--innodb-flush-log-at-trx-commit=0"]
        os.makedirs(self.path("database"))
        with open(SYSTEM_TABLES, encoding="utf-8") as tables, open(self.path("daemons.log"), "ab") as log:
            subprocess.run(["mariadbd", *options, "--bootstrap"], env=self.env, text=True, check=True, stdout=log, stderr=log,
                           input="CREATE DATABASE mysql;\nUSE mysql;\n" + tables.read())
        self.run("database", "mariadbd", *options, "--skip-grant-tables", "--bind-address=127.0.0.1", f"--port={self.database}",
                 f"--socket={self.path('database.sock')}", f"--pid-file={self.path('database.pid')}")
        self.wait(lambda: "ready for connections" in self.tail("daemons.log"), "mariadbd")

    def start_dbd(self):
        self.run("dbd", "slurmdbd", "-D")
        self.wait(lambda: self.succeeds("sacctmgr", "-n", "list", "cluster"), "slurmdbd")

    def succeeds(self, *command):
        return subprocess.run(command, env=self.env, capture_output=True, check=False).returncode == 0


def started(nodes):
    return slurm_rig.started_of(lambda: Rig(nodes))


if __name__ == "__main__":
    slurm_rig.by_hand(Rig, why_not())
