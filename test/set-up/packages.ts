/** Debian packages that the lab and the tests need, each with what is used of it. */
export const labPackages: readonly string[] = [
  'qemu-system-x86',
  'ovmf', // UEFI firmware for QEMU
  'seabios', // BIOS firmware for QEMU
  'ipxe-qemu', // the network cards' boot ROMs
  'openvswitch-switch', // ovs-vswitchd with the userspace datapath
  'openvswitch-common', // ovsdb-server's schema, ovs-vsctl, ovs-appctl
  'dnsmasq-base', // dnsmasq without the system service
  'openipmi', // ipmi_sim
  'ipmitool',
  'python3-ironicclient', // the baremetal command
  'python3-openstacksdk',
  'python3-yaml', // what Airship reads its documents with
  'golang-1.19-go', // builds the next one's test program in two seconds
  'golang-github-gophercloud-gophercloud-dev', // what metal3 speaks to Ironic with
  'python3-sushy', // an independent Redfish client
  'postgresql-15',
  'haproxy', // in front of several conductors
  'etcd-server', // clusters that nodes are taken out of
  'etcd-client', // etcdctl, the witness
  'iproute2',
  'procps', // sysctl
  'curl',
  'openssl', // makes certificates
  'apache2-utils', // htpasswd
  'openssh-client', // for the rescue ramdisk
  'openssh-server', // sshd, of a switch that is a Linux machine
  'gdisk', // sgdisk, for the proofs and the image writer's tests
  'fdisk', // sfdisk, for partition images
  'dosfstools', // mkfs.vfat, for their ESP
  'qemu-utils', // qemu-img, for qcow2
  'parted', // for the image writer's tests, as the next three
  'genisoimage',
  'xz-utils',
  'zstd',
  'casync', // makes chunked images
  'grub-common', // grub-fstest, which reads file systems as GRUB does
  'xfsprogs', // mkfs.xfs, for it
  'btrfs-progs', // mkfs.btrfs, and its subvolumes, for it
  'sbsigntool', // signs the loader of the ramdisk by the lab's own key
  'swtpm', // TPMs of machines, and of the agent's tests
  'swtpm-tools', // swtpm_setup, which makes them as their maker does
  'tpm2-tools', // makes credentials for the agent's keys and judges its quotes
  'libtss2-tcti-swtpm0', // its way to swtpm
  'docker-registry', // a registry with disk images
  'skopeo', // fills it, and reads the OCI image
  'busybox-static', // the KVM probe's initrd
  'cpio',
  // kubernetes-client is unpacked, not installed: set-up.sh says why
];

/**
 * Packages that only `npm run test:all` needs besides: programs that judge files of ours. Each has the programs of it that
 * tests start, which no test of `npm test` may.
 */
export const witnessPackages: Readonly<Record<string, readonly string[]>> = {
  'isc-dhcp-server': ['dhcpd'], // this and the next for the configurations of docs/dhcp
  'kea-dhcp4-server': ['kea-dhcp4'],
  'docker-compose': ['docker-compose'], // reads the compose file
  yamllint: ['yamllint'],
  umoci: ['umoci'], // unpacks the OCI image
  prometheus: ['prometheus', 'promtool'], // for health gates, and for the alert rules
  zsh: ['zsh'], // completion
  fish: ['fish'], // the same
  chromium: ['chromium'], // shows the board
  'fonts-dejavu-core': [], // for it
  patroni: ['patroni', 'patronictl'], // decides which of two database servers leads
  netconfd: ['netconfd'], // a NETCONF server
  'python3-ncclient': [], // judges ours
  'python3-netmiko': [], // the same, over SSH
};
