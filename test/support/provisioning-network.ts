import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { run } from '#shared/process/run.ts';
import type { DhcpAnswer, DhcpRequest } from '#test/support/dhcp-client.ts';
import type { Dhcp6Answer, Dhcp6Request } from '#test/support/dhcp6-client.ts';

/** A cable between an interface of this machine and a client in a network namespace. */
export interface ProvisioningNetwork {
  /** On this machine, or in the server's namespace. */
  readonly device: string;
  /** Words before a command that runs where that is. */
  readonly atServer: readonly string[];
  /** Its address. */
  readonly address: string;
  /** `fd00:77:5::`, /64. */
  readonly prefix6: string;
  /** `10.77.5.` of the client's and everybody else's addresses. */
  readonly prefix: string;
  /** Runs a command where the client is. */
  inside(command: string, ...args: readonly string[]): Promise<string>;
  /** Sends a request as a machine that boots, until it is answered; `undefined` when nobody does. */
  ask(request: DhcpRequest): Promise<DhcpAnswer | undefined>;
  /** The same by DHCPv6, again and again until somebody answers. */
  ask6(request: Omit<Dhcp6Request, 'device'>): Promise<Dhcp6Answer | undefined>;
  /** Has a real client get an address, in so many tries; returns what it says. */
  lease(tries?: number): Promise<string>;
  close(): Promise<void>;
}

/** Makes the client's namespace, which nobody else can have as long as it is there. @returns its number */
async function claimNetwork(): Promise<number> {
  for (let tries = 1; ; tries += 1) {
    const id = randomInt(250);
    try {
      await run('ip', ['netns', 'add', namespaceOf(id)]);
      return id;
    } catch (error) {
      if (tries === 250) throw error;
    }
  }
}

const namespaceOf = (id: number): string => `baton-dhcp-${id}`;

const clientProgram = join(import.meta.dirname, 'dhcp-client.ts');
const client6Program = join(import.meta.dirname, 'dhcp6-client.ts');

/** With `isApart` the server's end is in a namespace as well, for servers that let no other have their port. */
export async function openProvisioningNetwork({ isApart = false } = {}): Promise<ProvisioningNetwork> {
  const id = await claimNetwork();
  const [device, peer, namespace, apart] = [`bdhcp${id}`, `bdhcp${id}c`, namespaceOf(id), `${namespaceOf(id)}s`];
  const atServer = isApart ? ['ip', 'netns', 'exec', apart] : [];
  const ipThere = (...args: readonly string[]) => ip(...(isApart ? ['-n', apart] : []), ...args);
  const prefix = `10.77.${id}.`;
  const address = `${prefix}1`;
  const ip = (...args: readonly string[]) => run('ip', args);
  const inside: ProvisioningNetwork['inside'] = async (command, ...args) =>
    (await run('ip', ['netns', 'exec', namespace, command, ...args])).stdout;
  await ip('link', 'add', device, 'type', 'veth', 'peer', 'name', peer, 'netns', namespace);
  if (isApart) {
    await ip('netns', 'add', apart);
    await ip('link', 'set', device, 'netns', apart);
  }
  await ipThere('address', 'add', `${address}/24`, 'dev', device);
  await ipThere('address', 'add', `fd00:77:${id}::1/64`, 'dev', device, 'nodad');
  await ipThere('link', 'set', device, 'up');
  await ip('-n', namespace, 'address', 'add', `${prefix}9/24`, 'dev', peer);
  await ip('-n', namespace, 'link', 'set', peer, 'up');
  await ip('-n', namespace, 'route', 'add', 'default', 'dev', peer);
  return {
    device,
    atServer,
    address,
    prefix,
    prefix6: `fd00:77:${id}::`,
    inside,
    ask: async (request) =>
      (JSON.parse(await inside(process.execPath, clientProgram, JSON.stringify(request))) as DhcpAnswer | null) ??
      undefined,
    ask6: async (request) =>
      (JSON.parse(
        await inside(process.execPath, client6Program, JSON.stringify({ ...request, device: peer })),
      ) as Dhcp6Answer | null) ?? undefined,
    lease: async (tries = 60) => {
      const args = ['udhcpc', '-f', '-q', '-n', '-t', String(tries), '-T', '1', '-i', peer, '-s', '/bin/true'];
      return (await run('ip', ['netns', 'exec', namespace, 'busybox', ...args], { timeoutMs: 240_000 })).stderr;
    },
    close: async () => {
      // with its namespace it goes some time later, and another network may have got its number by then
      await run('ip', ['link', 'delete', device], { okExitCodes: [0, 1] });
      await ip('netns', 'delete', namespace);
      if (isApart) await ip('netns', 'delete', apart);
    },
  };
}
