import { and, desc, eq, inArray, lt } from 'drizzle-orm';
import { z } from 'zod';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { type FlowRow, flows } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { type PortRow, switchPorts } from '#conductor/kernel/db/schema/port.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import type { KnownDisk } from '#conductor/model/known-disk.ts';
import {
  type LeftDisk,
  receiptKind,
  receiptVersion,
  type WipedDisk,
  type WipeReceipt,
} from '#conductor/model/receipts/verify-receipt.ts';
import {
  findInventory,
  type KnownDisks,
  latestInventory,
  marksOf,
} from '#conductor/nodes/inspection/inventory-store.ts';
import { type DiskMarks, matchDisks } from '#conductor/nodes/inspection/match-disks.ts';
import { isVirtualMedium } from '#shared/disks/disk.ts';
import { protectedDevices } from '#shared/disks/skip-list.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { filledIn, realSerial } from '#shared/machine-identity.ts';
import { TpmQuote } from '#shared/wire/attestation.ts';
import { EraseResult, isEvidence, skipReasons } from '#shared/wire/erase-result.ts';

/** Facts that are known when the disks are wiped. */
export interface WipeFacts extends Pick<WipeReceipt, 'id' | 'conductor' | 'agent' | 'node' | 'flows' | 'attestation'> {
  readonly preserveLocalStorage: boolean;
  readonly result: EraseResult;
  readonly inventoried: readonly InventoriedDisk[];
}

/** Facts that are known when the flow ends. */
interface EndFacts
  extends Pick<WipeReceipt, 'switch_ports' | 'site_action' | 'requested_by' | 'tpm_quote' | 'tpm_quote_problem'> {
  readonly times: { readonly started: Date; readonly wiped: Date; readonly signed: Date };
}

export type ReceiptFacts = WipeFacts & EndFacts;

/** Signed with each receipt, so that nobody reads more into it. */
const scope =
  'The block devices that the ramdisk of this wipe saw, and those of earlier inventories. Not seen, and not wiped as far as ' +
  'is known: disks that a RAID controller hides or keeps as spares, disks without a block device, namespaces that ' +
  'are detached, caches of controllers, and memory of the BMC. All of it is the word of the agent in the ramdisk.';

/** Parts of a receipt that the machine's TPM can sign as the wipe ends, and those that come later. */
type WipePart = Omit<WipeReceipt, keyof EndPart>;
type EndPart = Pick<
  WipeReceipt,
  'switch_ports' | 'times' | 'site_action' | 'requested_by' | 'tpm_quote' | 'tpm_quote_problem'
>;

/**
 * The statement to be signed.
 * @throws AppError `storage_error` naming what is not proved: a receipt says nothing that nobody has seen.
 */
export function composeReceipt(facts: ReceiptFacts): WipeReceipt {
  return { ...composeWipe(facts), ...composeEnd(facts) };
}

/** Composes the part of a receipt that is known as the wipe ends. @throws AppError `storage_error`, as of `composeReceipt` */
export function composeWipe(facts: WipeFacts): WipePart {
  const { result, preserveLocalStorage } = facts;
  requireProofs(facts);
  const { pairs, unmet } = matchDisks(facts.inventoried, [...result.erased, ...result.skipped]);
  return {
    kind: receiptKind,
    version: receiptVersion,
    id: facts.id,
    conductor: facts.conductor,
    agent: facts.agent,
    scope,
    node: facts.node,
    preserve_local_storage: preserveLocalStorage,
    disks_wiped: result.erased.map(wipedDisk),
    disks_left_alone: result.skipped.map((disk) => leftDisk(disk, pairs.get(disk))),
    disks_not_seen: unmet.map(({ sizeBytes, device, serial, wwn, model, excuse }) => ({
      device,
      model,
      serial,
      wwn,
      size_bytes: sizeBytes,
      excuse,
    })),
    warnings: [...(result.warnings ?? [])],
    flows: facts.flows,
    attestation: facts.attestation,
  };
}

export function composeEnd(facts: EndFacts): EndPart {
  const { times } = facts;
  return {
    switch_ports: facts.switch_ports,
    times: {
      started: times.started.toISOString(),
      wiped: times.wiped.toISOString(),
      signed: times.signed.toISOString(),
    },
    site_action: facts.site_action,
    requested_by: facts.requested_by,
    tpm_quote: facts.tpm_quote,
    tpm_quote_problem: facts.tpm_quote_problem,
  };
}

function requireProofs({ result, preserveLocalStorage, inventoried }: WipeFacts): void {
  const { erased, skipped } = result;
  const unproved = erased.filter(({ proof }) => !isEvidence(proof));
  if (unproved.length > 0)
    throw refusal(`nothing that was read back proves the wipe of ${unproved.map(nameDisk).join(', ')}`);
  const preserved = skipped.filter(({ reason }) => reason === skipReasons.preserved);
  if (preserved.length > 0 && !preserveLocalStorage) {
    throw refusal(`${preserved.map(nameDisk).join(', ')} was preserved without a request`);
  }
  if (!preserveLocalStorage) requireAllMet(inventoried, result);
  else if (erased.length === 0) throw refusal('no disk with an operating system was wiped');
}

function refusal(reason: string): AppError {
  return new AppError('storage_error', `no receipt is signed without proof: ${reason}`);
}

function wipedDisk(disk: EraseResult['erased'][number]): WipedDisk {
  const { device, model, serial, wwn, bytes, method, proof, seconds, tried } = disk;
  if (!isEvidence(proof)) throw refusal(`nothing that was read back proves the wipe of ${nameDisk(disk)}`);
  return { device, model, serial, wwn, size_bytes: bytes, method, proof, seconds, tried: [...(tried ?? [])] };
}

function leftDisk(disk: EraseResult['skipped'][number], known: InventoriedDisk | undefined): LeftDisk {
  const { device, model, serial, wwn, reason } = disk;
  return {
    device,
    model,
    serial,
    wwn,
    size_bytes: known?.sizeBytes ?? null,
    reason,
    skip_list_entry: known?.skipListEntry ?? null,
  };
}

const text = z.string().nullish().catch(null);
const SystemVendor = z.object({
  system_vendor: z.object({ manufacturer: text, product_name: text, serial_number: text }).nullish().catch(null),
});

/** Reads what the machine is, as a ramdisk last read it. */
export async function readMachine(
  db: Queryable,
  node: Pick<NodeRow, 'uuid' | 'name' | 'properties'>,
  ports: readonly PortRow[],
): Promise<{ readonly node: WipeReceipt['node']; readonly inventoried: readonly InventoriedDisk[] }> {
  const row = await findInventory(db, node.uuid);
  const vendor = SystemVendor.safeParse(row?.inventory).data?.system_vendor;
  return {
    node: {
      uuid: node.uuid,
      name: node.name,
      vendor: filledIn(vendor?.manufacturer),
      model: filledIn(vendor?.product_name),
      serial_number: realSerial(vendor?.serial_number),
      macs: ports.map(({ address }) => address),
      inventory_at: row?.collectedAt.toISOString() ?? null,
    },
    inventoried: inventoriedDisks(await latestInventory(db, node.uuid), node.properties),
  };
}

/** Where Baton has last put the machine's switch ports, as it was read back. */
export async function readSwitchPorts(db: Queryable, ports: readonly PortRow[]): Promise<WipeReceipt['switch_ports']> {
  const uuids = ports.map(({ uuid }) => uuid);
  const rows =
    uuids.length === 0 ? [] : await db.select().from(switchPorts).where(inArray(switchPorts.portUuid, uuids));
  return ports.map((port) => {
    const row = rows.find(({ portUuid }) => portUuid === port.uuid);
    const local = (key: string): string | null => {
      const value = port.localLinkConnection[key];
      return typeof value === 'string' && value !== '' ? value : null;
    };
    const applied = row?.network === null ? 'isolated' : 'on a network';
    return {
      mac: port.address,
      switch_id: local('switch_id'),
      port_id: local('port_id'),
      switch_info: local('switch_info'),
      state: row ? applied : 'not managed',
      network: row?.network ?? null,
      vlan: row?.vlan ?? null,
      read_back_at: row?.appliedAt.toISOString() ?? null,
    };
  });
}

/** The flow that has released the instance whose disks are wiped: the one just before, if it is one. */
export async function findTeardownBefore(
  db: Queryable,
  flow: Pick<FlowRow, 'nodeUuid' | 'startedAt'>,
): Promise<string | null> {
  const [before] = await db
    .select({ uuid: flows.uuid, kind: flows.kind, state: flows.state })
    .from(flows)
    .where(and(eq(flows.nodeUuid, flow.nodeUuid), lt(flows.startedAt, flow.startedAt)))
    .orderBy(desc(flows.startedAt))
    .limit(1);
  return before?.kind === 'teardown' && before.state === 'succeeded' ? before.uuid : null;
}

/** A disk that the machine has, or had when it was last inspected. */
export interface InventoriedDisk extends DiskMarks {
  readonly sizeBytes: number | null;
  /** Why a wipe of all disks may leave it alone, or not meet it; `null`: it may not. */
  readonly excuse: string | null;
  /** The entry of the node's skip list that names it. */
  readonly skipListEntry?: JsonObject | undefined;
}

/**
 * All that a wipe has to meet, and what excuses it: as the agent does, it leaves the members of a protected volume alone.
 * @throws AppError for a skip list that can't be understood.
 */
export function inventoriedDisks(
  inventory: Pick<KnownDisks, 'disks' | 'toMeet'> | undefined,
  properties: JsonObject,
): readonly InventoriedDisk[] {
  if (inventory === undefined) return [];
  const { disks, toMeet } = inventory;
  const protection = disks && protectedDevices(properties, disks);
  return toMeet.map((disk) => {
    const { sizeBytes = null, ...marks } = marksOf(disk);
    // one of an earlier inventory is judged alone: the names of that time may be others' by now
    const entries = protection && disks.includes(disk) ? protection : protectedDevices(properties, [disk]);
    const index = entries.findIndex(({ devices }) => devices.includes(disk.name));
    if (index === -1) return { ...marks, sizeBytes, excuse: excuseOf(disk) };
    const listed = properties['skip_block_devices'] as readonly JsonObject[];
    return { ...marks, sizeBytes, excuse: skipReasons.skipList, skipListEntry: listed[index] };
  });
}

function excuseOf(disk: KnownDisk): string | null {
  if (isVirtualMedium(disk)) return skipReasons.virtualMedia;
  return disk.removable && disk.contents?.length === 0 ? 'it is removable, and was empty' : null;
}

/**
 * A wipe of all disks has to have met them all.
 * @throws AppError `storage_error` naming those that may hold data, and what can be done.
 */
export function requireAllMet(inventoried: readonly InventoriedDisk[], { erased, skipped }: EraseResult): void {
  const unmet = matchDisks(inventoried, [...erased, ...skipped]).unmet.filter(({ excuse }) => excuse === null);
  if (unmet.length === 0) return;
  throw new AppError(
    'storage_error',
    `the wipe did not find ${unmet.map(nameDisk).join(', ')}, which this machine had: failed or removed, it may hold data. ` +
      'Put it back (or repair it) and wipe again; if it is gone for good, inspect the node without it and wipe again; list disks ' +
      'that must never be wiped in properties.skip_block_devices',
  );
}

/**
 * An agent's word is not enough for leaving a disk alone in a wipe of all.
 * @throws AppError `agent_error` naming the disks for whose reason nothing speaks.
 */
export function requireTrueExcuses(inventoried: readonly InventoriedDisk[], { erased, skipped }: EraseResult): void {
  const { pairs } = matchDisks(inventoried, [...erased, ...skipped]);
  const wrong = skipped.filter(
    (disk) => disk.reason !== skipReasons.preserved && pairs.get(disk)?.excuse !== disk.reason,
  );
  if (wrong.length === 0) return;
  const each = wrong.map((disk) => `${nameDisk(disk)}: ${disk.reason}`);
  throw new AppError(
    'agent_error',
    `the agent has left disks alone for a reason that the conductor does not see (${each.join('; ')}): neither the ` +
      "node's properties.skip_block_devices nor its inventory says so",
  );
}

/** Device and serial, as messages name a disk. */
export function nameDisk({ device, serial }: { readonly device: string; readonly serial: string | null }): string {
  return serial === null ? device : `${device} (serial ${serial})`;
}

/** Outcome of `deploy.wipe_disks`: the agent's answer, which proves each disk, and what that agent was. */
export const ProvedWipe = EraseResult.extend({
  /** By its heartbeats, which have ended when the receipt is signed. */
  agent_version: z.string().nullable().default(null),
  /** The receipt's beginning, as text, and the TPM's quote over its hash; `null`: the boot was attested by no TPM. */
  quoted: z
    .object({ beginning: z.string(), quote: TpmQuote.nullable(), problem: z.string().nullable() })
    .nullable()
    .default(null),
});
export type ProvedWipe = Readonly<z.infer<typeof ProvedWipe>>;
