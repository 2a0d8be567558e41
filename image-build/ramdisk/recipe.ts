/** Contents of the ramdisk. To add a tool: its package and its program; for a driver: its folder or module. */

export const suite = 'bookworm';

/** Directories with hardware managers and script steps to put in, see `docs/custom-steps.md`; `--extra` adds more. */
export const extraDirectories: readonly string[] = [];

/** Debian packages that the ramdisk's files are picked from; what they depend on is there too. */
export const packages = [
  'busybox-static',
  'dmidecode',
  'dosfstools',
  'dropbear-bin',
  'e2fsprogs',
  'efibootmgr',
  'ethtool',
  'fdisk',
  'gdisk',
  'grub-common',
  'grub-efi-amd64-bin',
  'grub-efi-amd64-signed',
  'grub-pc-bin',
  'gzip',
  'hdparm',
  'ipmitool',
  'iproute2',
  'kexec-tools',
  'kmod',
  'libcap2-bin',
  'libstdc++6',
  'linux-image-amd64',
  'mdadm',
  'mount',
  'nvme-cli',
  'parted',
  'pci.ids',
  'pciutils',
  'shim-signed',
  'smartmontools',
  'stressapptest',
  'udev',
  'util-linux',
  'xz-utils',
  'zstd',
];

/** Programs by name; their libraries follow by themselves. Busybox fills in for the rest. */
export const programs = [
  'badblocks',
  'blkdiscard',
  'blkid',
  'blockdev',
  'busybox',
  'capsh',
  'chattr',
  'dmidecode',
  'dropbear',
  'dumpe2fs',
  'e2fsck',
  'efibootdump',
  'efibootmgr',
  'ethtool',
  'fatlabel',
  'findmnt',
  'flock',
  'grub-fstest',
  'grub-mkimage',
  'fsck.vfat',
  'gzip',
  'hdparm',
  'insmod',
  'ip',
  'ipmitool',
  'kexec',
  'kmod',
  'losetup',
  'lsblk',
  'lscpu',
  'lsmod',
  'lspci',
  'mdadm',
  'mdmon',
  'mke2fs',
  'mkfs.ext2',
  'mkfs.ext3',
  'mkfs.ext4',
  'mkfs.vfat',
  'mkswap',
  'modinfo',
  'modprobe',
  'mount',
  'mountpoint',
  'nvme',
  'parted',
  'partprobe',
  'partx',
  'resize2fs',
  'rmmod',
  'sfdisk',
  'sgdisk',
  'smartctl',
  'stressapptest',
  'tune2fs',
  'udevadm',
  'umount',
  'unshare',
  'wipefs',
  'xz',
  'zstd',
];

/** Programs outside the search path. */
export const programPaths = [
  'usr/lib/systemd/systemd-udevd',
  'usr/lib/udev/ata_id',
  'usr/lib/udev/cdrom_id',
  'usr/lib/udev/scsi_id',
];

/** GRUB for these firmwares, which the agent installs where an image has none of its own that boots by itself. */
export const grubPlatforms = ['i386-pc', 'x86_64-efi'];

/** Modules of GRUB that are for no Linux system on a disk; one that another needs is taken all the same. */
export const grubExceptions =
  /test|^(affs|afs|bfs|bsd|cbfs|cbls|gdb|geli|hello|hfs|jfs|ldm|luks|macho|minix|morse|net|nilfs|ntfs|pata|plan9|pxe|reiserfs|romfs|sfs|spkmodem|tftp|truecrypt|udf|ufs|usb|xnu|zfs)|^(freedos|http|legacycfg|multiboot|odc|part_(?!gpt|msdos))/;

/** Data files and folders that the programs read. */
export const dataPaths = ['etc/mke2fs.conf', 'usr/share/misc/pci.ids', 'usr/share/smartmontools'];

/**
 * udev's rules: those that give disks their links, serials and sizes, and load drivers. Left out on purpose:
 * `64-md-raid-assembly` (arrays found on old disks would hold them while an image is written; the agent assembles
 * what it needs) and `80-net-setup-link` (kernel names of NICs are as good as any: they are told apart by MAC).
 */
export const udevRules = [
  '01-md-raid-creating',
  '50-firmware',
  '50-udev-default',
  '60-block',
  '60-cdrom_id',
  '60-persistent-storage',
  '60-serial',
  '63-md-raid-arrays',
  '80-drivers',
];

/**
 * Kernel modules: folders or files below `kernel/`, taken whole, less `moduleExceptions`; what they depend on comes by
 * itself. Fibre Channel and iSCSI adapters are left out: most need firmware that Debian has outside `main`.
 */
export const modulePaths = [
  'arch/x86/crypto/crc32-pclmul.ko',
  'arch/x86/crypto/crc32c-intel.ko',
  'arch/x86/crypto/crct10dif-pclmul.ko',
  'crypto/crc32c_generic.ko',
  'crypto/crct10dif_generic.ko',
  'crypto/crc64_rocksoft_generic.ko',
  'drivers/acpi/nfit',
  // the power button, by which the BMC has a parked machine go on (agent/kexec)
  'drivers/acpi/button.ko',
  'drivers/ata',
  'drivers/block/loop.ko',
  'drivers/block/mtip32xx',
  'drivers/block/virtio_blk.ko',
  'drivers/block/xen-blkfront.ko',
  'drivers/cdrom',
  'drivers/char/hw_random/virtio-rng.ko',
  'drivers/char/ipmi',
  'drivers/char/virtio_console.ko',
  'drivers/firmware/qemu_fw_cfg.ko',
  'drivers/hid/hid.ko',
  'drivers/hid/hid-generic.ko',
  'drivers/hid/usbhid',
  'drivers/hv/hv_vmbus.ko',
  'drivers/input/evdev.ko',
  'drivers/md',
  'drivers/message/fusion',
  'drivers/misc/cardreader/rtsx_pci.ko',
  // a disk without driver is neither erased nor deployed to: eMMC and SD cards, persistent memory
  'drivers/mmc/core/mmc_block.ko',
  'drivers/mmc/host/rtsx_pci_sdmmc.ko',
  'drivers/mmc/host/sdhci-acpi.ko',
  'drivers/mmc/host/sdhci-pci.ko',
  'drivers/net/bonding',
  'drivers/net/ethernet',
  'drivers/net/hyperv',
  // LLDP is heard through it (agent/network)
  'drivers/net/macvtap.ko',
  'drivers/net/mdio',
  'drivers/net/phy',
  'drivers/net/usb/cdc_eem.ko',
  'drivers/net/usb/cdc_ether.ko',
  'drivers/net/usb/cdc_ncm.ko',
  'drivers/net/usb/cdc_subset.ko',
  'drivers/net/usb/rndis_host.ko',
  'drivers/net/virtio_net.ko',
  'drivers/net/vmxnet3',
  'drivers/net/xen-netfront.ko',
  'drivers/nvdimm',
  'drivers/nvme/host/nvme.ko',
  'drivers/pci/controller',
  'drivers/platform/x86/dell',
  'drivers/platform/x86/firmware_attributes_class.ko',
  'drivers/platform/x86/think-lmi.ko',
  'drivers/scsi',
  'drivers/usb/common',
  'drivers/usb/core',
  'drivers/usb/host',
  'drivers/usb/storage',
  'drivers/virtio',
  'fs/btrfs',
  'fs/efivarfs',
  'fs/ext4',
  'fs/fat',
  'fs/isofs',
  'fs/nls/nls_ascii.ko',
  'fs/nls/nls_cp437.ko',
  'fs/nls/nls_iso8859-1.ko',
  'fs/nls/nls_utf8.ko',
  'fs/xfs',
  'net/8021q',
];

/** Regular expressions on the path below `kernel/`. */
export const moduleExceptions = [
  /^drivers\/ata\/pata_/,
  /^drivers\/md\/(bcache|persistent-data)\//,
  /^drivers\/md\/(dm-(?!mod)|faulty|md-cluster)/,
  /^drivers\/net\/ethernet\/(3com|8390|adaptec|agere|alteon|amd\/pcnet|dec|fealnx|fujitsu|natsemi|netronome|neterion)/,
  /^drivers\/net\/ethernet\/(atheros\/(atl1e|atlx)|micrel)/,
  /^drivers\/net\/ethernet\/(broadcom\/b44|brocade|cavium\/liquidio|jme|myricom|qlogic\/netxen|sfc\/falcon)/,
  /^drivers\/net\/ethernet\/(packetengines|rdc|silan|sis|smsc|sun|tehuti|ti|via|xircom|dlink|stmicro|microchip)/,
  // these do nothing at all without their firmware, which is not here
  /^drivers\/net\/ethernet\/(broadcom\/(bnx2|cnic)|chelsio\/cxgb3|qlogic\/qed)/,
  /^drivers\/platform\/x86\/dell\/(?!dell-wmi-sysman)/,
  /^drivers\/scsi\/(aic94xx|be2iscsi|bfa|bnx2fc|bnx2i|csiostor|cxgbi|fcoe|fnic|iscsi_tcp|libfc|lpfc|pcmcia)/,
  /^drivers\/scsi\/(a100u2w|am53c974|atp870u|dc395x|device_handler|dmx3191d|esp_scsi|initio|libiscsi|qlogicfas)/,
  // adapters for parallel disks, from before x86-64
  /^drivers\/scsi\/(3w-xxxx|ips|megaraid\.ko|myrb|myrs)/,
  /^drivers\/scsi\/(qedf|qedi|qla1280|qla2xxx|qla4xxx|scsi_debug|snic|st\.ko|ch\.ko|wd719x|advansys|aic7xxx)/,
  /^drivers\/usb\/host\/(sl811|u132)/,
  /^drivers\/usb\/storage\/ums-/,
];
