import { chmod, chown, mkdir, readdir, stat } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { type DhcpConfig, findInterface } from '#conductor/boot/dhcp/dhcp-settings.ts';
import { makeKnownMachinesDirectory, renderDnsmasqConfig } from '#conductor/boot/dhcp/dnsmasq-config.ts';
import type { BootEvent } from '#conductor/model/power-and-boot.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import { parseMacAddress } from '#shared/mac-address.ts';
import { type KeptService, keepRunning } from '#shared/process/keep-running.ts';
import { type Run, type RunningProcess, start } from '#shared/process/run.ts';

export interface DhcpServerContext {
  readonly run: Run;
  readonly log: Log;
  readonly onSighting?: ((sighting: DhcpSighting) => void) | undefined;
}

/** dnsmasq, as it runs. */
interface Dnsmasq {
  readonly process: RunningProcess;
  /** The end of what it has written. */
  readonly lastLines: readonly string[];
}

interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** Debian's for it, else everybody's. */
const accountNames = ['dnsmasq', 'nobody'];
/** Ports below 1024, an address for who has none yet, and ARP for it. */
const capabilities = '+net_bind_service,+net_admin,+net_raw';
const startMs = 30_000;
const endMs = 5_000;
const rememberedLines = 5;

/**
 * Starts dnsmasq on the provisioning network, and starts it again whenever it ends. It ends with this process, whatever
 * ends that.
 * @throws AppError `unavailable` or `invalid_argument` naming the setting and what would be right.
 */
export async function startDhcpServer(
  config: DhcpConfig,
  { run, log, onSighting }: DhcpServerContext,
): Promise<KeptService> {
  await requireDnsmasq(config, run);
  await requireBootFiles(config);
  const account = process.getuid?.() === 0 ? await findAccount(run) : undefined;
  await prepareDirectory(config.directory, account);
  if (config.knownRanges.length > 0) await makeKnownMachinesDirectory(config);
  const service = {
    name: 'dnsmasq',
    // looked up each time: an address may have changed
    start: () => launch(config, account, { log, onSighting }),
    whenGone: waitForEnd,
    end: stop,
    log,
  };
  const first = await service.start();
  log.info({ mode: config.mode, interface: findInterface(config, networkInterfaces()).name }, 'DHCP is answered');
  return keepRunning(service, first);
}

async function requireDnsmasq({ mode }: DhcpConfig, run: Run): Promise<void> {
  try {
    await run('dnsmasq', ['--version']);
  } catch (cause) {
    throw new AppError(
      'unavailable',
      `BATON_DHCP: ${mode} needs dnsmasq: install Debian's dnsmasq-base (the package dnsmasq starts a service of its own)`,
      { cause },
    );
  }
}

async function requireBootFiles({ tftpDirectory }: DhcpConfig): Promise<void> {
  const names = await readdir(tftpDirectory).catch((): string[] => []);
  const missing = ['undionly.kpxe', 'snponly.efi'].filter((name) => !names.includes(name));
  if (missing.length === 0) return;
  throw new AppError(
    'invalid_argument',
    `BATON_IPXE_DIR: ${tftpDirectory} has no ${missing.join(' and no ')}: install Debian's ipxe, whose files are in /usr/lib/ipxe`,
  );
}

async function findAccount(run: Run): Promise<Account> {
  for (const name of accountNames) {
    const { stdout, exitCode } = await run('getent', ['passwd', '--', name], { okExitCodes: [0, 2] });
    const [, , uid, gid] = stdout.split(':');
    if (exitCode === 0) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new AppError('unavailable', `BATON_DHCP: this machine has no user ${accountNames.join(' or ')} for dnsmasq`);
}

/** Its own directory, through those above it, which stay closed to anyone who would list them. */
async function prepareDirectory(directory: string, account: Account | undefined): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  if (account === undefined) return;
  await chown(directory, account.uid, account.gid);
  const { mode } = await stat(dirname(directory));
  await chmod(dirname(directory), (mode & 0o7777) | 0o001);
}

async function launch(
  config: DhcpConfig,
  account: Account | undefined,
  { log, onSighting }: Omit<DhcpServerContext, 'run'>,
): Promise<Dnsmasq> {
  const text = renderDnsmasqConfig(config, findInterface(config, networkInterfaces()));
  log.debug({ config: text }, 'dnsmasq is started');
  const own = account
    ? [
        `--reuid=${account.uid}`,
        `--regid=${account.gid}`,
        '--clear-groups',
        `--inh-caps=${capabilities}`,
        `--ambient-caps=${capabilities}`,
        `--bounding-set=-all,${capabilities}`,
      ]
    : [];
  const dnsmasq = ['dnsmasq', '--keep-in-foreground', '--conf-file=-', '--pid-file=', '--log-facility=-'];
  // the kernel ends it with this process; that is why it can't change its user itself, which undoes this (prctl(2))
  const child = start('setpriv', [...own, '--pdeathsig=TERM', '--', ...dnsmasq], { cwd: '/' });
  child.stdin.on('error', () => undefined); // it ends, and has said why
  child.stdin.end(text);
  child.stdout.resume();
  const lastLines: string[] = [];
  const started = new Promise<boolean>((resolve) => {
    createInterface(child.stderr).on('line', (line) => {
      log.debug({ line }, 'dnsmasq');
      const sighting = readDhcpLine(line);
      if (sighting) onSighting?.(sighting);
      lastLines.push(line.replace(/^dnsmasq(-\w+)?(\[\d+\])?: /, ''));
      if (lastLines.length > rememberedLines) lastLines.shift();
      if (/: started, version/.test(line)) resolve(true);
    });
    child.exited.then(
      () => resolve(false),
      () => resolve(false),
    );
    setTimeout(() => resolve(false), startMs).unref();
  });
  if (await started) return { process: child, lastLines };
  child.kill('SIGKILL');
  await child.exited;
  throw new AppError('unavailable', `BATON_DHCP: dnsmasq ended as it started: ${describeEnd(lastLines)}`);
}

/** Describes what it said, and what to do, for what commonly is the matter. */
function describeEnd(lines: readonly string[]): string {
  const said = lines.filter((line) => line !== '').join('; ') || 'it said nothing';
  if (/address already in use/i.test(said)) {
    return `${said}: another server has the port (\`ss -lunp\` shows it): stop it; beside a DHCP server on another machine use BATON_DHCP=proxy`;
  }
  if (/permission denied|operation not permitted/i.test(said)) {
    return `${said}: the conductor needs the capabilities CAP_NET_BIND_SERVICE, CAP_NET_ADMIN and CAP_NET_RAW (AmbientCapabilities= of its systemd unit), or run it as root`;
  }
  return said;
}

async function waitForEnd({ process: child, lastLines }: Dnsmasq, signal: AbortSignal): Promise<string> {
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
  const exitCode = await Promise.race([child.exited, aborted]);
  return `exit code ${exitCode}: ${lastLines.at(-1) ?? 'it said nothing'}`;
}

async function stop({ process: child }: Dnsmasq): Promise<void> {
  child.kill();
  const timer = setTimeout(() => child.kill('SIGKILL'), endMs);
  await child.exited.catch(() => undefined);
  clearTimeout(timer);
}

/** Whom dnsmasq has answered. */
export interface DhcpSighting {
  readonly mac: string;
  readonly event: BootEvent;
}

/** From the line's beginning: what clients say of themselves stands further behind. */
const line =
  /^dnsmasq-dhcp\[\d+\]: (?:\d+ )?(DHCPACK|DHCPDISCOVER|PXE)\([^)]+\) (?:(\d+\.[\d.]+) )?((?:[0-9a-f]{2}:){5}[0-9a-f]{2})(?: (.*))?$/;

/**
 * Reads what a line of dnsmasq's log says of a machine that boots: an address that it was given, that none is left, or
 * that it got its boot file beside another server's answer. `undefined` for all other lines. Pure.
 */
export function readDhcpLine(text: string): DhcpSighting | undefined {
  const [, kind, address, given = '', rest = ''] = line.exec(text) ?? [];
  const mac = parseMacAddress(given);
  if (mac === undefined) return undefined;
  const trouble = /^(no address available|address in use|ignored)/.exec(rest.trim())?.[0];
  if (trouble !== undefined) return { mac, event: { event: 'dhcp', detail: trouble } };
  if (kind === 'DHCPACK' && address !== undefined) return { mac, event: { event: 'dhcp', detail: address } };
  return kind === 'PXE' ? { mac, event: { event: 'dhcp', detail: 'proxy' } } : undefined;
}
