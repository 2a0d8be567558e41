import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type RunningProcess, start } from '#shared/process/run.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { bootRequests } from '#test/support/boot-requests.ts';
import { openProvisioningNetwork, type ProvisioningNetwork } from '#test/support/provisioning-network.ts';

/** The configurations of docs/dhcp, in the servers that they are for, asked by each kind of client. */

let network: ProvisioningNetwork;
let folder: string;
let server: RunningProcess | undefined;
beforeEach(async () => {
  network = await openProvisioningNetwork({ isApart: true });
  folder = await mkdtemp(join(tmpdir(), 'baton-dhcp-'));
});
afterEach(async () => {
  server?.kill();
  await server?.exited;
  server = undefined;
  await network.close();
  await rm(folder, { recursive: true });
});

/** A file of docs/dhcp, with the addresses of this network. */
async function readConfiguration(name: string): Promise<string> {
  const text = await readFile(join(import.meta.dirname, '../../docs/dhcp', name), 'utf8');
  return text.replaceAll('CONDUCTOR', network.address).replaceAll('TFTP', network.address);
}

async function run(command: string, args: readonly string[], hears: RegExp): Promise<void> {
  const [first = '', ...rest] = [...network.atServer, command, ...args];
  let said = '';
  const child = start(first, rest, { env: { KEA_PIDFILE_DIR: folder, KEA_LOCKFILE_DIR: folder } });
  server = child;
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      said += chunk.toString('utf8');
    });
  }
  const ended = child.exited.then((code) => {
    throw new Error(`${command} ended with ${code}: ${said}`);
  });
  ended.catch(() => undefined);
  const listens = waitUntil(`${command} to listen`, () => Promise.resolve(hears.test(said) || undefined), {
    everyMs: 20,
  });
  await Promise.race([listens, ended]);
}

async function expectEachFile(): Promise<void> {
  for (const [kind, request, file] of bootRequests(`http://${network.address}:6385`)) {
    const { file: given, server: from, vendorClass } = (await network.ask(request)) ?? {};
    // firmware needs to hear where the file is, or that HTTP is meant
    const more = file.startsWith('http:') ? { vendorClass } : { from };
    const right = file.startsWith('http:') ? { vendorClass: 'HTTPClient' } : { from: network.address };
    expect({ kind, file: given, ...(kind === 'iPXE' ? {} : more) }).toEqual({
      kind,
      file,
      ...(kind === 'iPXE' ? {} : right),
    });
  }
}

test('dnsmasq', async () => {
  const file = join(folder, 'dnsmasq.conf');
  const own = [
    'port=0',
    `interface=${network.device}`,
    'bind-interfaces',
    'no-ping',
    `dhcp-leasefile=${join(folder, 'leases')}`,
    'user=root',
    `dhcp-range=${network.prefix}100,${network.prefix}200`,
  ];
  await writeFile(file, [...own, await readConfiguration('dnsmasq.conf')].join('\n'));
  const args = ['--keep-in-foreground', '--log-facility=-', '--pid-file=', `--conf-file=${file}`];
  await run('dnsmasq', args, /sockets bound exclusively/);
  await expectEachFile();
});

test('ISC dhcpd', async () => {
  const [file, leases] = [join(folder, 'dhcpd.conf'), join(folder, 'leases')];
  await writeFile(leases, '');
  const subnet = `subnet ${network.prefix}0 netmask 255.255.255.0 { range ${network.prefix}100 ${network.prefix}200; }\n`;
  await writeFile(file, `ping-check false;\n${await readConfiguration('dhcpd.conf')}${subnet}`);
  const args = ['-4', '-f', '-d', '--no-pid', '-cf', file, '-lf', leases, network.device];
  await run('dhcpd', args, /Server starting service/);
  await expectEachFile();
});

test('Kea', async () => {
  const file = join(folder, 'kea.json');
  const configuration = {
    'interfaces-config': { interfaces: [network.device] },
    'lease-database': { type: 'memfile', persist: false },
    subnet4: [
      {
        id: 1,
        subnet: `${network.prefix}0/24`,
        pools: [{ pool: `${network.prefix}100 - ${network.prefix}200` }],
      },
    ],
    loggers: [{ name: 'kea-dhcp4', output_options: [{ output: 'stdout' }], severity: 'INFO' }],
    ...(JSON.parse(await readConfiguration('kea-dhcp4.json')) as object),
  };
  await writeFile(file, JSON.stringify({ Dhcp4: configuration }));
  await run('kea-dhcp4', ['-c', file], /DHCP4_STARTED/);
  await expectEachFile();
});
