import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run, start } from '#shared/process/run.ts';
import { type SwitchServer, startSwitchServer } from '#test/simulators/switch/switch-server.ts';

/**
 * A switch that is logged in to with a Unix shell: a real one runs the commands, on programs (`bin`) that have the switch in
 * a file of JSON.
 */
export interface ProgramSwitch extends SwitchServer {
  readonly read: () => Promise<unknown>;
  /** Runs a command as somebody else would. */
  readonly shell: (command: string) => Promise<{ stdout: string; stderr: string; code: number }>;
  /** With what is in effect then. */
  readonly reboot: (startup: string) => Promise<void>;
}

/** Where the programs are. */
export const programs = join(import.meta.dirname, 'bin');

export async function startProgramSwitch(fresh: unknown): Promise<ProgramSwitch> {
  const folder = await mkdtemp(join(tmpdir(), 'baton-switch-'));
  const stateFile = join(folder, 'switch.json');
  await writeFile(stateFile, JSON.stringify(fresh));
  const pipes = await mkdtemp(join(folder, 'pipes-'));
  await run('mkfifo', [join(pipes, 'requests'), join(pipes, 'answers')]);
  await writeFile(join(pipes, 'lock'), '');
  const env = { SWITCH_STATE: stateFile, SWITCH_PIPES: pipes, PATH: `${programs}:${process.env['PATH'] ?? ''}` };
  const runner = start('/usr/bin/python3', ['-IS', join(programs, '../programs/run.py'), '--pipes', pipes], { env });
  runner.stderr.resume();
  const anyCode = Array.from({ length: 256 }, (_, code) => code);
  const shell = async (command: string) => {
    const there = command.replaceAll('/var/lib/baton', join(folder, 'baton'));
    // as long as the driver waits: a change of 48 ports starts hundreds of programs
    const result = await run('sh', ['-c', there], { env, okExitCodes: anyCode, timeoutMs: 180_000 });
    return { stdout: result.stdout, stderr: result.stderr, code: result.exitCode };
  };
  const server = await startSwitchServer({ run: shell });
  return {
    ...server,
    shell,
    read: async () => JSON.parse(await readFile(stateFile, 'utf8')),
    reboot: async (startup) => {
      await writeFile(stateFile, JSON.stringify(fresh));
      await shell(startup);
    },
    stop: async () => {
      await server.stop();
      runner.kill();
      await runner.exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Ports of a bridge with VLANs, in none of them. */
export const freshLinux = (ports: readonly string[]) =>
  Object.fromEntries(ports.map((port) => [port, { isolated: false, vlans: {} }]));

interface RecordedLink {
  readonly ifname: string;
  readonly master?: string;
  readonly linkinfo?: {
    readonly info_kind?: string;
    readonly info_data?: { readonly mode?: string };
    readonly info_slave_data?: { readonly isolated?: boolean };
  };
}
interface RecordedVlans {
  readonly ifname: string;
  readonly vlans: readonly { readonly vlan: number; readonly vlanEnd?: number; readonly flags?: readonly string[] }[];
}

/** Devices as `ip -j -d link show` and `bridge -j vlan show` have printed them. */
export const recordedLinux = (links: readonly RecordedLink[], vlans: readonly RecordedVlans[]) =>
  Object.fromEntries(
    links.map((link) => {
      const ranges = vlans.flatMap((each) => (each.ifname === link.ifname ? each.vlans : []));
      const each = ranges.flatMap(({ vlan, vlanEnd = vlan, flags = [] }) =>
        Array.from({ length: vlanEnd - vlan + 1 }, (_, index) => [vlan + index, flags] as const),
      );
      const { info_kind: kind, info_data: data, info_slave_data: its } = link.linkinfo ?? {};
      return [
        link.ifname,
        {
          link,
          master: link.master ?? '',
          isolated: its?.isolated === true,
          vlans: Object.fromEntries(each),
          ...(kind === 'bond' ? { bond: data?.mode } : {}),
        },
      ];
    }),
  );

/** Ports that are tagged in a VLAN, as another neighbour may have needed them. */
export const freshSonic = (ports: readonly string[]) => ({
  ...Object.fromEntries(
    ['PORT', 'PORTCHANNEL'].map((table) => [
      table,
      Object.fromEntries(
        ports
          .filter((port) => port.startsWith('PortChannel') === (table === 'PORTCHANNEL'))
          .map((port) => [port, { admin_status: 'up', mtu: '9100' }]),
      ),
    ]),
  ),
  MCLAG_DOMAIN: { '1': { source_ip: '192.0.2.1', peer_ip: '192.0.2.2', peer_link: 'PortChannel1' } },
  VLAN: { Vlan999: { vlanid: '999' } },
  VLAN_MEMBER: Object.fromEntries(ports.map((port) => [`Vlan999|${port}`, { tagging_mode: 'tagged' }])),
});

/** Ports of the bridge as they come: untagged in VLAN 1. */
export const freshCumulus = (ports: readonly string[]) => ({
  ports,
  pending: null,
  applied: {
    bridge: { domain: { br_default: { vlan: { '1': {} } } } },
    interface: Object.fromEntries(ports.map((port) => [port, { bridge: { domain: { br_default: { untagged: 1 } } } }])),
  },
});
