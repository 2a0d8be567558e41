import type { LeftDisk, WipedDisk, WipeReceipt } from '#conductor/model/receipts/receipt-fields.ts';
import { receiptKind, receiptVersion } from '#conductor/model/receipts/receipt-fields.ts';
import { matchDisks } from '#conductor/nodes/inspection/match-disks.ts';
import { type InventoriedDisk, nameDisk, requireAllMet } from '#conductor/receipts/inventoried-disks.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { type EraseResult, isEvidence, skipReasons } from '#shared/wire/erase-result.ts';

export interface ReceiptFacts
  extends Pick<
    WipeReceipt,
    'id' | 'conductor' | 'agent' | 'node' | 'switch_ports' | 'flows' | 'site_action' | 'requested_by'
  > {
  readonly preserveLocalStorage: boolean;
  readonly result: EraseResult;
  readonly inventoried: readonly InventoriedDisk[];
  readonly times: { readonly started: Date; readonly wiped: Date; readonly signed: Date };
}

/** Signed with each receipt, so that nobody reads more into it. */
const scope =
  'The block devices that the ramdisk of this wipe saw, and those of earlier inventories. Not seen, and not wiped as far as ' +
  'is known: disks that a RAID controller hides or keeps as spares, disks without a block device, namespaces that ' +
  'are detached, caches of controllers, and memory of the BMC. All of it is the word of the agent in the ramdisk.';

/**
 * The statement to be signed.
 * @throws AppError `storage_error` naming what is not proved: a receipt says nothing that nobody has seen.
 */
export function composeReceipt(facts: ReceiptFacts): WipeReceipt {
  const { result, preserveLocalStorage, times } = facts;
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
    switch_ports: facts.switch_ports,
    times: {
      started: times.started.toISOString(),
      wiped: times.wiped.toISOString(),
      signed: times.signed.toISOString(),
    },
    flows: facts.flows,
    site_action: facts.site_action,
    requested_by: facts.requested_by,
  };
}

function requireProofs({ result, preserveLocalStorage, inventoried }: ReceiptFacts): void {
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
