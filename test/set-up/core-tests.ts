/** A test file below `test/` that `npm test` runs beside the unit tests, and the abilities that it is there for. */
export interface CoreTest {
  readonly file: string;
  readonly proves: string;
}

/**
 * The system and VM tests of `npm test`: each ability at least once, in as little time as that takes. All other files of
 * `test/{system,vm}` are its variants, combinations and rarer faults: `npm run test:all` has them, too.
 */
export const coreTests: readonly CoreTest[] = [
  // machines in QEMU
  {
    file: 'vm/whole-uefi.test.ts',
    proves:
      "a deploy under UEFI and Redfish: RAID 1 with a disk pulled, EFI variables, a step of one's own, a conductor killed amid the image",
  },
  {
    file: 'vm/whole-bios.test.ts',
    proves: 'a deploy under BIOS and IPMI: image, boot loader, tenant network; then the wipe, its proof and receipt',
  },
  { file: 'vm/kexec.test.ts', proves: 'a deploy under UEFI that ends with kexec: identity, tenant network, one POST' },
  {
    file: 'vm/attested-boot.test.ts',
    proves:
      'a machine with Secure Boot as sold and a TPM: trusted by what it has measured, refused with one byte of its initrd changed',
  },
  // one node
  { file: 'system/simulated-deploy.test.ts', proves: 'deploys by a conductor as it ships' },
  { file: 'system/some-flows.test.ts', proves: 'a crash and a failure at each point of a deploy and other flows' },
  { file: 'system/step-flows.test.ts', proves: 'another ramdisk after a reboot, service, fast track' },
  { file: 'system/manual-cleaning.test.ts', proves: "the operator's own list of steps: order, holds, aborts" },
  { file: 'system/maintenance.test.ts', proves: 'maintenance: nothing is done, no time runs out' },
  { file: 'system/inspection.test.ts', proves: 'inspection' },
  { file: 'system/plans.test.ts', proves: 'a plan is read before, and is what happens' },
  { file: 'system/plan.test.ts', proves: 'what a plan says of disks' },
  { file: 'system/console.test.ts', proves: 'the console of a ramdisk' },
  {
    file: 'system/serial-console.test.ts',
    proves: 'serial consoles: ipmitool on ipmi_sim, Redfish by WebSocket and SSH',
  },
  {
    file: 'system/power-amid-flash.test.ts',
    proves: 'no power is switched while firmware is written: faults, kills and requests drawn',
  },
  { file: 'system/held-in-band.test.ts', proves: "the same for the agent's steps; a person's word ends it" },
  { file: 'system/bios.test.ts', proves: 'BIOS settings by the BMC' },
  { file: 'system/day-two.test.ts', proves: 'metrics, webhooks, history, log' },
  { file: 'system/wipe-flows.test.ts', proves: 'wipes that preserve, and that fail' },
  { file: 'system/receipts.test.ts', proves: 'receipts, verified offline by baton and by openssl' },
  { file: 'system/preserve-local-storage.test.ts', proves: 'local storage that stays is not the next root device' },
  { file: 'system/import.test.ts', proves: 'nodes come over from Ironic, metal3 and a table while they run' },
  { file: 'system/guides.test.ts', proves: 'the commands of README and guides, as they stand there' },
  { file: 'system/demo.test.ts', proves: 'baton demo: a board with life in one command' },
  // who asks
  { file: 'system/baton-cli.test.ts', proves: 'baton as a program' },
  { file: 'system/baremetal-cli.test.ts', proves: "Debian's baremetal" },
  { file: 'system/baremetal-resources.test.ts', proves: "ports, chassis, volumes, traits… by Debian's baremetal" },
  { file: 'system/client-libraries.test.ts', proves: "openstacksdk, and gophercloud in metal3's order" },
  { file: 'system/who-may.test.ts', proves: 'TLS, htpasswd, the port for booting' },
  { file: 'system/secrets.test.ts', proves: 'no secret in database, log or answer' },
  // what is behind the conductor
  { file: 'system/redfish-sushy.test.ts', proves: "the Redfish simulator, by Debian's sushy" },
  { file: 'system/ipmi.test.ts', proves: 'the IPMI driver on ipmi_sim' },
  { file: 'system/ovs.test.ts', proves: 'switch ports on Open vSwitch' },
  {
    file: 'system/tenant-networks.test.ts',
    proves: "several networks a node, trunks, what others change, by Ironic's client and Open vSwitch",
  },
  { file: 'system/killed-amid-move.test.ts', proves: "a conductor killed amid a switch's change over HTTPS" },
  { file: 'system/lldp.test.ts', proves: 'LLDP on real cables' },
  {
    file: 'system/dhcp.test.ts',
    proves: "the conductor's DHCP server: each kind of firmware, restarts, a conductor killed",
  },
  { file: 'system/conductor-start.test.ts', proves: "a conductor that can't start says why" },
  {
    file: 'system/private-server.test.ts',
    proves: 'the PostgreSQL that a conductor runs for itself: killed, taken up, full disk, what is missing',
  },
  { file: 'system/database-backup.test.ts', proves: 'backup and restore, of both kinds of database' },
  { file: 'system/postgresql.test.ts', proves: 'two conductors on one PostgreSQL' },
  { file: 'system/take-over.test.ts', proves: 'what a killed conductor was at goes on by another within seconds' },
  { file: 'system/allocations.test.ts', proves: 'allocations by two conductors' },
  { file: 'system/webhooks-postgresql.test.ts', proves: 'webhooks by two conductors' },
  { file: 'system/fencing.test.ts', proves: 'a conductor that was taken over writes nothing' },
  // disks
  { file: 'system/write-image.test.ts', proves: 'the image writer on block devices' },
  { file: 'system/image-tables.test.ts', proves: 'images that do not fit the disk are refused before it is touched' },
  { file: 'system/oci-registry.test.ts', proves: "images from OCI registries, by Debian's registry and skopeo" },
  { file: 'system/image-neighbours.test.ts', proves: 'machines that send each other the image that they deploy' },
  { file: 'system/write-partition-image.test.ts', proves: 'partition images on block devices' },
  { file: 'system/grub-reads.test.ts', proves: "root file systems that GRUB can't read are refused, by Debian's GRUB" },
  { file: 'system/config-drive.test.ts', proves: 'config drives' },
  { file: 'system/inject-files.test.ts', proves: 'files put into file systems' },
  { file: 'system/erase.test.ts', proves: 'erasing on block devices' },
  // sites and clusters
  { file: 'system/site-cli.test.ts', proves: 'a site from documents, by baton' },
  { file: 'system/pyyaml.test.ts', proves: "documents' scalars as Debian's PyYAML has them" },
  { file: 'system/site-plugins.test.ts', proves: "plugins' tasks in deploys" },
  { file: 'system/site-actions.test.ts', proves: 'site actions by three conductors: killed, paused, stopped' },
  { file: 'system/redeploy-preserve.test.ts', proves: 'redeploy_server, with local storage that stays' },
  { file: 'system/decommission.test.ts', proves: 'a node leaves Kubernetes and a real etcd cluster' },
  { file: 'system/teardown-cli.test.ts', proves: 'baton drain and its siblings' },
  { file: 'system/kubernetes.test.ts', proves: "the simulated Kubernetes, by Debian's kubectl" },
  { file: 'system/etcd-access.test.ts', proves: 'etcd clusters with TLS and passwords' },
];
