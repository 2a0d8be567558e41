/** Contents of the demo OS image. */

export const suite = 'bookworm';

export const packages = [
  'cloud-init',
  'dbus',
  'grub-efi-amd64-bin',
  'grub-pc-bin',
  'grub2-common',
  'initramfs-tools',
  'iproute2',
  'linux-image-cloud-amd64',
  'mdadm',
  'systemd-resolved',
  'systemd-sysv',
  'udev',
  'zstd',
];

/** Every byte is written once for each deploy. The hardware database has names for USB and PCI devices that nobody asks for. */
const unwantedFiles = [
  ...['doc', 'i18n', 'info', 'locale', 'man'].map((folder) => `/usr/share/${folder}`),
  '/usr/lib/udev/hwdb.d',
  '/lib/udev/hwdb.d',
];

/** Folders of the kernel's modules for network file systems, firewalls, clusters and devices that the demo has no use for. */
const unwantedModules = [
  ...['comedi', 'infiniband', 'soundwire', 'target'].map((folder) => `drivers/${folder}`),
  ...['btrfs', 'cachefiles', 'ceph', 'lockd', 'nfs', 'nfsd', 'orangefs', 'smb', 'xfs'].map((folder) => `fs/${folder}`),
  ...['ceph', 'dccp', 'l2tp', 'netfilter', 'openvswitch', 'rds', 'sched', 'sctp', 'smc', 'sunrpc', 'tipc'].map(
    (folder) => `net/${folder}`,
  ),
].map((folder) => `/lib/modules/*/kernel/${folder}`);

export const mmdebstrapOptions = [
  '--variant=minbase',
  '--aptopt=APT::Install-Recommends "false"',
  ...[...unwantedFiles, ...unwantedModules].map((path) => `--dpkgopt=path-exclude=${path}/*`),
];

export const enabledServices = ['systemd-networkd.service', 'systemd-resolved.service', 'baton-beacon.service'];

/** Work that a machine which lives for minutes does not need, least of all while it boots. */
export const disabledUnits = [
  'apt-daily-upgrade.timer',
  'apt-daily.timer',
  'cloud-config.service',
  'cloud-init-hotplugd.socket',
  'cloud-init.service',
  'dev-hugepages.mount',
  'dev-mqueue.mount',
  'dpkg-db-backup.timer',
  'e2scrub_all.timer',
  'e2scrub_reap.service',
  'fstrim.timer',
  'grub-common.service',
  'mdmonitor.service',
  'modprobe@configfs.service',
  'modprobe@dm_mod.service',
  'modprobe@drm.service',
  'modprobe@efi_pstore.service',
  'modprobe@fuse.service',
  'modprobe@loop.service',
  'proc-sys-fs-binfmt_misc.automount',
  'sys-fs-fuse-connections.mount',
  'sys-kernel-config.mount',
  'sys-kernel-debug.mount',
  'sys-kernel-tracing.mount',
  'systemd-binfmt.service',
  'systemd-network-generator.service',
  'systemd-pcrphase-sysinit.service',
  'systemd-pcrphase.service',
  'systemd-pstore.service',
  'systemd-repart.service',
  'systemd-timesyncd.service',
  'systemd-update-utmp-runlevel.service',
  'systemd-update-utmp.service',
];

/**
 * Generators that systemd runs at each start to make units of, and that find nothing: each is a program more,
 * cloud-init's a long script.
 */
export const disabledGenerators = [
  'cloud-init-generator', // enables cloud-init.target, which is always enabled here
  'systemd-cryptsetup-generator',
  'systemd-gpt-auto-generator',
  'systemd-hibernate-resume-generator',
  'systemd-integritysetup-generator',
  'systemd-rc-local-generator',
  'systemd-system-update-generator',
  'systemd-sysv-generator',
  'systemd-veritysetup-generator',
];

/** Bytes of the whole disk. */
export const diskSize = 1024 * 1024 * 1024;

/** Fixed, so that the same tree gives the same image. A disk's own identity does not matter before it is written. */
export const identity = {
  disk: 'B2A70000-0000-4000-8000-000000000000',
  biosBoot: 'B2A70000-0000-4000-8000-000000000001',
  efiSystem: 'B2A70000-0000-4000-8000-000000000002',
  rootPartition: 'B2A70000-0000-4000-8000-000000000003',
  rootFileSystem: 'b2a70000-0000-4000-8000-000000000004',
  directoryHash: 'b2a70000-0000-4000-8000-000000000005',
  /** FAT's volume id, eight hex digits. */
  efiVolume: 'b2a70006',
} as const;

/** Seconds since 1970 for everything the build itself dates: 2026-01-01. */
export const imageDate = 1_767_225_600;
