import { createSocket } from 'node:dgram';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run } from '#shared/process/run.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { bootRequests, firmware } from '#test/support/boot-requests.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { freePort } from '#test/support/free-port.ts';
import { conductorProgram } from '#test/support/programs.ts';
import { openProvisioningNetwork, type ProvisioningNetwork } from '#test/support/provisioning-network.ts';

/** The conductor's own dnsmasq (Debian: dnsmasq-base), asked by clients at the other end of a cable. */

let network: ProvisioningNetwork;
let conductor: ConductorProcess;
let bootUrl: string;

beforeAll(async () => {
  network = await openProvisioningNetwork();
  bootUrl = `http://${network.address}:6385`;
  conductor = await prepareConductor({ BATON_BOOT_URL: bootUrl, BATON_LOG_LEVEL: 'debug' });
});
afterAll(async () => {
  await conductor.close();
  await network.close();
});

async function dnsmasqPids(): Promise<number[]> {
  const { stdout } = await run('pgrep', ['--full', '--exact', 'dnsmasq --keep-in-foreground --conf-file=- .*'], {
    okExitCodes: [0, 1],
  });
  const pids = stdout.split('\n').filter(Boolean).map(Number);
  const parents = await Promise.all(
    pids.map(async (pid) => (await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')).split(' ')[3]),
  );
  return pids.filter((_, index) => parents[index] === String(conductor.pid()));
}

async function createPort(address: string): Promise<void> {
  const headers = { 'content-type': 'application/json', 'x-openstack-ironic-api-version': '1.96' };
  const post = async (path: string, body: unknown) => {
    const answer = await fetch(`${conductor.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    expect(answer.status).toBe(201);
    return (await answer.json()) as { uuid: string };
  };
  const { uuid } = await post('/v1/nodes', { driver: 'fake-hardware' });
  await post('/v1/ports', { node_uuid: uuid, address });
}

const ready = async () => (await (await fetch(`${conductor.url}/readyz`)).json()) as Record<string, unknown>;

describe('as the server', () => {
  beforeAll(async () => {
    const ranges = `${network.prefix}100-${network.prefix}199`;
    await conductor.start({ BATON_DHCP: 'server', BATON_DHCP_RANGES: ranges });
  });
  afterAll(() => conductor.kill('SIGTERM'));

  test('gives a client an address', async () => {
    expect(await network.lease()).toContain(`lease of ${network.prefix}1`);
    expect(await ready()).toMatchObject({ status: 'ok', checks: { dhcp: 'ok' } });
  });

  test('gives each kind of firmware its first file, and iPXE the first script', async () => {
    for (const [name, request, file] of bootRequests(bootUrl)) {
      expect([name, (await network.ask(request))?.file]).toEqual([name, file]);
    }
    const answer = await network.ask(firmware(16, 'HTTPClient'));
    expect(answer?.vendorClass).toBe('HTTPClient');
  });

  test('serves iPXE over TFTP', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'baton-tftp-'));
    await network.inside('busybox', 'tftp', '-g', '-r', 'snponly.efi', '-l', join(folder, 'file'), network.address);
    const [fetched, own] = await Promise.all([readFile(join(folder, 'file')), readFile('/usr/lib/ipxe/snponly.efi')]);
    expect(fetched.equals(own)).toBe(true);
    await rm(folder, { recursive: true });
  });

  test('does not run as root, and is started again when it is killed', async () => {
    const [pid = 0, ...others] = await dnsmasqPids();
    expect(others).toEqual([]);
    expect(await readFile(`/proc/${pid}/status`, 'utf8')).toMatch(/^Uid:\t(?!0)(\d+)\t\1\t\1\t\1$/m);
    // again and again, for it is away for moments only
    const killed = async () => {
      for (const each of await dnsmasqPids()) process.kill(each, 'SIGKILL');
      return (await ready())['causes'] !== undefined || undefined;
    };
    await waitUntil('readyz to say so', killed, { everyMs: 5 });
    await waitUntil('another', async () => (await ready())['causes'] === undefined || undefined, {
      everyMs: 50,
    });
    expect(await dnsmasqPids()).not.toContain(pid);
    expect(conductor.log()).toContain('dnsmasq exited unexpectedly and is restarted');
    expect(await network.lease()).toContain('lease of');
  });

  test('ends with a conductor that is killed, and a new one gives the same address', async () => {
    const before = /lease of (\S+)/.exec(await network.lease())?.[1];
    const [pid = 0] = await dnsmasqPids();
    await conductor.kill('SIGKILL');
    const isGone = async () => !(await readFile(`/proc/${pid}/comm`).catch(() => undefined)) || undefined;
    await waitUntil('dnsmasq to end', isGone, { everyMs: 50 });
    await conductor.start({ BATON_DHCP: 'server', BATON_DHCP_RANGES: `${network.prefix}100-${network.prefix}199` });
    expect(/lease of (\S+)/.exec(await network.lease())?.[1]).toBe(before);
  });
});

describe('as the server, by IPv6', () => {
  beforeAll(async () => {
    const { prefix, prefix6 } = network;
    const ranges = `${prefix}100-${prefix}200,${prefix6}100-${prefix6}1ff`;
    await conductor.start({ BATON_DHCP: 'server', BATON_DHCP_RANGES: ranges });
  });
  afterAll(() => conductor.kill('SIGTERM'));

  test('gives each kind of firmware an address and the URL of its first file, and iPXE the first script', async () => {
    const tftp = `tftp://[${network.prefix6}1]`;
    for (const [request, bootFile] of [
      [{ architecture: 7 }, `${tftp}/snponly.efi`],
      [{ architecture: 11 }, `${tftp}/ipxe-arm64.efi`],
      [{ architecture: 16 }, `${bootUrl}/boot/snponly.efi`],
      [{ architecture: 19 }, `${bootUrl}/boot/ipxe-arm64.efi`],
      [{ architecture: 7, isIpxe: true }, `${bootUrl}/boot/boot.ipxe`],
    ] as const) {
      const answer = await network.ask6(request);
      expect({ request, bootFile: answer?.bootFile }).toEqual({ request, bootFile });
      expect(answer?.address).toMatch(/^fd000077[0-9a-f]{4}0{17}1[0-9a-f]{2}$/);
    }
  });
});

describe('among strangers', () => {
  const known = '52:54:00:77:00:aa';
  // of the server's leases so far, which it keeps, none is here
  const [open, forKnown] = [210, 220];
  const addressesFrom = (first: number) => Array.from({ length: 4 }, (_, index) => `${network.prefix}${first + index}`);
  const strangerAsks = async (index: number, requestedAddress: string) => {
    const answer = await network.ask({ type: 'request', mac: `52:54:00:77:01:0${index}`, requestedAddress });
    return answer?.address;
  };
  beforeAll(async () => {
    await conductor.start({
      BATON_DHCP: 'server',
      BATON_DHCP_RANGES: `${network.prefix}${open}-${network.prefix}${open + 3}`,
      BATON_DHCP_KNOWN_RANGES: `${network.prefix}${forKnown}-${network.prefix}${forKnown + 3}`,
    });
  });
  afterAll(() => conductor.kill('SIGTERM'));

  test('a known machine gets an address though they have taken all they can', async () => {
    const [first = ''] = addressesFrom(open);
    const inOpenRange = { mac: known, type: 'discover' } as const;
    expect(addressesFrom(open)).toContain((await network.ask(inOpenRange))?.address);
    await createPort(known);
    const taken: unknown[] = [];
    for (const [index, address] of addressesFrom(open).entries()) taken.push(await strangerAsks(index, address));
    expect(taken).toEqual(addressesFrom(open));
    const refused: unknown[] = [];
    for (const [index, address] of addressesFrom(forKnown).entries())
      refused.push(await strangerAsks(index + 4, address));
    expect(refused).toEqual(refused.map(() => '0.0.0.0'));
    const late = { mac: '52:54:00:77:01:09', type: 'discover', patienceMs: 5000 } as const;
    expect(await network.ask(late)).toBeUndefined();
    const isKnown = async () => {
      const answer = await network.ask(inOpenRange);
      return addressesFrom(forKnown).includes(answer?.address ?? '') || undefined;
    };
    await waitUntil('an address of its own', isKnown, { everyMs: 100 });
    expect(await strangerAsks(0, first)).toBe(first);
  });
});

describe('beside another server', () => {
  beforeAll(() => conductor.start({ BATON_DHCP: 'proxy' }));
  afterAll(() => conductor.kill('SIGTERM'));

  test('gives files and no addresses', async () => {
    await expect(network.lease(5)).rejects.toThrow('no lease');
    for (const [name, request, file] of bootRequests(bootUrl)) {
      let answer = await network.ask(request);
      // UEFI firmware asks a second time, at the port that the offer has sent it to
      if (answer?.file === '') {
        const to = { address: network.address, port: 4011 };
        answer = await network.ask({ ...request, type: 'request', to, clientAddress: `${network.prefix}9` });
      }
      expect([name, answer?.file, answer?.address]).toEqual([name, file, '0.0.0.0']);
      expect([name, answer?.vendorClass]).toEqual([name, request.vendorClass?.split(':')[0]]);
    }
  });
});

test('a conductor that can not answer DHCP says why', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'baton-dhcp-'));
  await chmod(directory, 0o711); // for the user as whom PostgreSQL runs
  const refused = async (settings: Readonly<Record<string, string>>) => {
    const env = {
      BATON_DATA_DIR: join(directory, 'data'),
      BATON_PORT: String(await freePort()),
      BATON_BOOT_URL: bootUrl,
      BATON_DHCP: 'server',
      BATON_DHCP_RANGES: '10.77.0.1-10.77.0.2',
      ...settings,
    };
    return (await run(conductorProgram, [], { env, okExitCodes: [1], timeoutMs: 120_000 })).stderr;
  };
  expect(await refused({ BATON_DHCP_INTERFACE: 'none0' })).toContain('BATON_DHCP_INTERFACE: none0 is not an interface');
  expect(await refused({ BATON_IPXE_DIR: directory })).toContain(`BATON_IPXE_DIR: ${directory} has no undionly.kpxe`);
  const taken = createSocket('udp4');
  await new Promise<void>((resolve) => taken.bind(67, () => resolve()));
  const said = await refused({ BATON_DHCP_INTERFACE: network.device });
  taken.close();
  expect(said).toMatch(/Address already in use.*another server has the port/);
  await rm(directory, { recursive: true });
});
