import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RunningProcess, run, start } from '#shared/process/run.ts';

const nodes = [1, 2, 3] as const;

/** A real Open vSwitch of its own (Debian: openvswitch-switch) in network namespaces of its own; needs root. */
export interface OpenVswitch {
  readonly endpoint: string;
  readonly tcpEndpoint: string;
  readonly folder: string;
  vsctl(...args: string[]): Promise<string>;
  /** The port's column as `ovs-vsctl` prints it. */
  column(port: string, column: string): Promise<string>;
  stopDaemon(): Promise<void>;
  startDaemon(): Promise<void>;
  stop(): Promise<void>;
}

/** One bridge with ports p1, p2, p3, each in a namespace `${prefix}-${number}` at 10.9.9.x. */
export async function startOpenVswitch(prefix: string): Promise<OpenVswitch> {
  const folder = await mkdtemp(join(tmpdir(), 'baton-ovs-'));
  const socket = join(folder, 'db.sock');
  const env = { OVS_RUNDIR: folder, OVS_LOGDIR: folder, OVS_DBDIR: folder };
  const namespaces = [prefix, ...nodes.map((node) => `${prefix}-${node}`)];
  const netns = (name: string, ...argv: string[]) => ['netns', 'exec', name, ...argv];
  const vsctl = async (...args: string[]): Promise<string> => {
    const result = await run('ovs-vsctl', [`--db=unix:${socket}`, '--timeout=60', ...args]);
    return result.stdout.trim();
  };
  const running: { server?: RunningProcess; daemon?: RunningProcess } = {};
  const end = async (process: RunningProcess | undefined): Promise<void> => {
    process?.kill();
    await process?.exited;
  };
  const startDaemon = async (): Promise<void> => {
    const argv = ['ovs-vswitchd', `unix:${socket}`, `--unixctl=${folder}/vswitchd.ctl`, '--no-chdir', '-vconsole:off'];
    running.daemon = start('ip', netns(prefix, ...argv), { env });
    running.daemon.stdout.resume();
    running.daemon.stderr.resume();
    await vsctl('--', 'init'); // waits for the daemon to take over the database
  };
  const stop = async (): Promise<void> => {
    await end(running.daemon);
    await end(running.server);
    for (const name of namespaces) await run('ip', ['netns', 'delete', name], { okExitCodes: [0, 1] });
    await rm(folder, { recursive: true, force: true });
  };
  try {
    for (const name of namespaces) await run('ip', ['netns', 'add', name]);
    await run('ip', ['-n', prefix, 'link', 'set', 'lo', 'up']);
    await run('ovsdb-tool', ['create', join(folder, 'conf.db'), '/usr/share/openvswitch/vswitch.ovsschema']);
    const remotes = [`--remote=punix:${socket}`, '--remote=ptcp:6640:127.0.0.1'];
    const control = [`--unixctl=${folder}/server.ctl`, '--no-chdir', '-vconsole:off'];
    running.server = start('ip', netns(prefix, 'ovsdb-server', join(folder, 'conf.db'), ...remotes, ...control), {
      env,
    });
    running.server.stdout.resume();
    running.server.stderr.resume();
    await run('ovsdb-client', ['--timeout=60', 'wait', `unix:${socket}`, 'Open_vSwitch', 'connected']);
    await vsctl('--no-wait', 'init');
    await startDaemon();
    await vsctl('add-br', 'br0', '--', 'set', 'bridge', 'br0', 'datapath_type=netdev');
    for (const node of nodes) {
      await vsctl('add-port', 'br0', `p${node}`, '--', 'set', 'interface', `p${node}`, 'type=internal');
      const home = `${prefix}-${node}`;
      await run('ip', ['-n', prefix, 'link', 'set', `p${node}`, 'netns', home]);
      await run('ip', ['-n', home, 'address', 'add', `10.9.9.${node}/24`, 'dev', `p${node}`]);
      await run('ip', ['-n', home, 'link', 'set', `p${node}`, 'up']);
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    endpoint: `unix:${socket}`,
    tcpEndpoint: 'tcp:127.0.0.1:6640',
    folder,
    vsctl,
    column: (port, column) => vsctl('get', 'port', port, column),
    stopDaemon: () => end(running.daemon),
    startDaemon,
    stop,
  };
}
