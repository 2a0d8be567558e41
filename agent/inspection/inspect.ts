import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { type ApiAnswer, createApiClient } from '#agent/api/api-client.ts';
import { faultText } from '#agent/api/fault-text.ts';
import { type LogSources, packSystemLogs } from '#agent/commands/collect-system-logs.ts';
import type { HardwareManager } from '#agent/hardware/hardware-manager.ts';
import type { DiskInfo, Inventory } from '#agent/hardware/inventory.ts';
import { readPrintedTexts } from '#agent/inspection/printed-texts.ts';
import { readAttribute } from '#agent/machine/network-interfaces.ts';
import type { Say } from '#agent/say.ts';
import { listBlockDevices } from '#agent/storage/lsblk.ts';
import type { Clock } from '#shared/clock.ts';
import { chooseRootDevice } from '#shared/disks/choose-root-device.ts';
import { AppError, errorChain, errorCode } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import { backOffMs, type Random, retry } from '#shared/retry.ts';

/**
 * Looks at the machine and reports it. Never rejects but when the agent is stopped: as in ironic-python-agent, one that
 * can't report looks itself up all the same.
 */
export async function inspect(
  config: { readonly collectors: readonly string[] },
  target: ReportTarget,
  services: ReportServices & { readonly say: Say },
): Promise<void> {
  const { say, log } = services;
  say('inspecting this machine');
  try {
    const report = await buildReport(config.collectors, services);
    const uuid = await sendReport(report, target);
    say(`inspection report accepted by ${target.url}${uuid === undefined ? '' : ` for node ${uuid}`}`);
    log.info({ url: target.url, node: uuid }, 'inspection report accepted');
  } catch (error) {
    target.signal.throwIfAborted();
    log.error({ err: error }, 'inspection failed');
    say(`inspection failed: ${errorChain(error)}; going on without`);
  }
}

export interface ReportServices extends LogSources {
  readonly log: Log;
  readonly inventory: () => Promise<Inventory>;
  readonly hardwareManagers: readonly HardwareManager[];
}

type Report = Readonly<Record<string, unknown>>;
type Collector = (services: ReportServices, names: readonly string[]) => Promise<Report>;

/** By the names of `ipa-inspection-collectors`. */
const collectors: Readonly<Record<string, Collector>> = {
  default: async (services, names) => {
    const inventory = await services.inventory();
    return {
      inventory,
      root_disk: await rootDisk(services, inventory),
      boot_interface: inventory.boot.pxe_interface,
      configuration: {
        collectors: names,
        managers: services.hardwareManagers.map(({ name, version }) => ({ name, version })),
      },
      baton_texts: await readPrintedTexts(services),
    };
  },
  'pci-devices': async () => ({ pci_devices: await readPciDevices() }),
  logs: async (services) => {
    try {
      return { logs: await packSystemLogs(services) };
    } catch (error) {
      // a machine is well that can only not show its logs
      services.log.warn({ err: error }, 'no logs go with the inspection report');
      return {};
    }
  },
};

/**
 * Builds the report of what the machine is, in the form of ironic-python-agent's inspection (agent-protocol.md §2.5). A
 * collector that fails or is unknown costs its own part; `error` reports it, and the conductor fails the inspection.
 */
async function buildReport(names: readonly string[], services: ReportServices): Promise<Report> {
  const errors: string[] = [];
  let report: Report = {};
  for (const name of names) {
    const collect = Object.hasOwn(collectors, name) ? collectors[name] : undefined;
    if (!collect) {
      services.log.warn({ collector: name, known: Object.keys(collectors) }, 'no such inspection collector: left out');
      continue;
    }
    try {
      report = { ...report, ...(await collect(services, names)) };
    } catch (error) {
      services.log.error({ err: error, collector: name }, 'inspection collector failed');
      errors.push(`collector ${name} failed: ${errorChain(error)}`);
    }
  }
  return { ...report, error: errors.length > 0 ? errors.join('; ') : null };
}

/** Without hints: whose node this is, and what they are, is not known yet. */
async function rootDisk(services: ReportServices, inventory: Inventory): Promise<DiskInfo | null> {
  try {
    const device = chooseRootDevice(await listBlockDevices(services.run), { properties: {}, instance_info: {} });
    return inventory.disks.find(({ name }) => name === device.name) ?? null;
  } catch (error) {
    services.log.info({ err: error }, 'the root disk is not known');
    return null;
  }
}

/** A device in the form of ironic-python-agent's `pci-devices` collector: hexadecimal without `0x`. */
export interface PciDevice {
  readonly vendor_id: string | null;
  readonly product_id: string | null;
  readonly class: string | null;
  readonly revision: string | null;
  /** `0000:00:05.0` */
  readonly bus: string;
  readonly numa_node_id: string | null;
}

/** The machine's PCI devices by address; none on a machine without that bus. */
export async function readPciDevices(sysRoot = '/sys'): Promise<readonly PciDevice[]> {
  const root = join(sysRoot, 'bus/pci/devices');
  const names = await readdir(root).catch((error: unknown): string[] => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  });
  return Promise.all(
    names.sort().map(async (bus) => {
      const read = async (name: string): Promise<string | null> =>
        (await readAttribute(join(root, bus), name))?.replace(/^0x/, '') ?? null;
      return {
        vendor_id: await read('vendor'),
        product_id: await read('device'),
        class: await read('class'),
        revision: await read('revision'),
        bus,
        numa_node_id: await read('numa_node'),
      };
    }),
  );
}

export interface ReportTarget {
  /** `ipa-inspection-callback-url` */
  readonly url: string;
  readonly insecure: boolean;
  readonly requestTimeoutMs: number;
  readonly globalRequestId: string | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly raiseClock?: ((time: Date) => Promise<void>) | undefined;
}

const attempts = 5;
const backOff = { firstMs: 2000, leastMs: 5000, mostMs: 30_000, spread: [0, 1] } as const;
const Accepted = z.looseObject({ uuid: z.string().optional(), node: z.looseObject({ uuid: z.string() }).optional() });

/**
 * Posts the report, without an API version as ironic-python-agent does; five tries, 5 to 30 s apart, while nobody
 * answers, the node is locked or the server fails. Answers the node's UUID, if the server sends it.
 * @throws AppError `unavailable`, `agent_error` when it is refused.
 */
async function sendReport(report: unknown, target: ReportTarget): Promise<string | undefined> {
  const { clock, random, log, signal } = target;
  const url = new URL(target.url);
  const api = createApiClient({ ...target, urls: [url.origin] });
  try {
    const request = { method: 'POST', path: `${url.pathname}${url.search}`, body: report } as const;
    return await retry(async () => readAnswer(target.url, await api.request(request)), {
      clock,
      signal,
      attempts,
      passes: (error) => errorCode(error) === 'unavailable',
      delayMs: (attempt) => backOffMs({ ...backOff, random }, attempt),
      onRetry: (error, attempt, waitMs) =>
        log.warn({ err: error, attempt, waitMs: Math.round(waitMs) }, 'inspection report not accepted yet'),
    });
  } finally {
    await api.close();
  }
}

function readAnswer(url: string, answer: ApiAnswer): string | undefined {
  if (answer.status >= 200 && answer.status < 300) {
    const { data } = Accepted.safeParse(answer.body);
    return data?.uuid ?? data?.node?.uuid;
  }
  const passes = answer.status === 409 || answer.status >= 500;
  throw new AppError(
    passes ? 'unavailable' : 'agent_error',
    `send the inspection report to ${url}: ${faultText(answer)}`,
  );
}
