/**
 * How programs of an image run in the ramdisk: they come from anywhere, and are to reach the deployed system alone. They
 * get namespaces of their own, with a `/proc` of their own that can only be read, and none of the capabilities that lead
 * out of a chroot or to the kernel.
 */

/**
 * Capabilities that package managers, GRUB's tools and scripts need to write files of any owner, and to give up being
 * root.
 */
const keptCapabilities: ReadonlySet<string> = new Set([
  'cap_audit_write',
  'cap_chown',
  'cap_dac_override',
  'cap_fowner',
  'cap_fsetid',
  'cap_kill',
  'cap_net_bind_service',
  'cap_setfcap',
  'cap_setgid',
  'cap_setuid',
]);

/** capabilities(7), in the kernel's order; `capsh` takes those that this kernel does not have by their numbers. */
const capabilities = [
  'cap_chown',
  'cap_dac_override',
  'cap_dac_read_search',
  'cap_fowner',
  'cap_fsetid',
  'cap_kill',
  'cap_setgid',
  'cap_setuid',
  'cap_setpcap',
  'cap_linux_immutable',
  'cap_net_bind_service',
  'cap_net_broadcast',
  'cap_net_admin',
  'cap_net_raw',
  'cap_ipc_lock',
  'cap_ipc_owner',
  'cap_sys_module',
  'cap_sys_rawio',
  'cap_sys_chroot',
  'cap_sys_ptrace',
  'cap_sys_pacct',
  'cap_sys_admin',
  'cap_sys_boot',
  'cap_sys_nice',
  'cap_sys_resource',
  'cap_sys_time',
  'cap_sys_tty_config',
  'cap_mknod',
  'cap_lease',
  'cap_audit_write',
  'cap_audit_control',
  'cap_setfcap',
  'cap_mac_override',
  'cap_mac_admin',
  'cap_syslog',
  'cap_wake_alarm',
  'cap_block_suspend',
  'cap_audit_read',
  'cap_perfmon',
  'cap_bpf',
  'cap_checkpoint_restore',
];

/** `/proc/sys/kernel/core_pattern` and the like reach the whole kernel, and their owner may write them. */
const readOnlyProc = 'mount -o remount,bind,ro,nosuid,nodev,noexec proc "$0" && exec "$@"';

export interface Sandbox {
  /** The deployed system's root folder, mounted. */
  readonly root: string;
  /** Where `/proc` of the system is, its links followed inside of it: a folder below `root`. */
  readonly proc: string;
  /** The ramdisk's network; without it there is none. */
  readonly network: boolean;
}

/**
 * Arguments of `unshare` for one program; when that ends, or `unshare` is killed, all that it has started goes too.
 * @param program its path as the deployed system knows it, `/usr/sbin/grub-install`
 */
export function sandboxArguments(
  { root, proc, network }: Sandbox,
  program: string,
  args: readonly string[],
): readonly string[] {
  const dropped = capabilities.filter((name) => !keptCapabilities.has(name));
  const confine = ['sh', '-c', readOnlyProc, proc];
  const chroot = ['capsh', `--chroot=${root}`, `--drop=${dropped.join(',')}`, `--shell=${program}`, '--', ...args];
  return [
    '--mount',
    '--pid',
    '--fork',
    '--kill-child',
    '--ipc',
    '--uts',
    ...(network ? [] : ['--net']),
    `--mount-proc=${proc}`,
    ...confine,
    ...chroot,
  ];
}
