import { randomUUID } from 'node:crypto';
import { listSteps } from '#conductor/flows/log/flow-store.ts';
import type { ConductorStep, StepContext } from '#conductor/flows/step-context.ts';
import type { FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import type { ReceiptRow } from '#conductor/kernel/db/schema/receipt.ts';
import { sealEnvelope } from '#conductor/model/receipts/envelope.ts';
import { addHistory } from '#conductor/nodes/node-history.ts';
import {
  composeReceipt,
  findTeardownBefore,
  ProvedWipe,
  readMachine,
  readSwitchPorts,
} from '#conductor/receipts/compose-receipt.ts';
import { findReceiptOfFlow, keepReceipt } from '#conductor/receipts/receipt-store.ts';
import { holdSigningKey } from '#conductor/receipts/signing-key-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

type SignContext = Pick<
  StepContext,
  'db' | 'secrets' | 'clock' | 'config' | 'node' | 'flow' | 'ports' | 'ask' | 'record'
>;

/**
 * The receipt of the flow's wipe: signed and kept, or the one that it has already.
 * @throws AppError `storage_error` for a wipe that is not proved; `database_error`
 */
export async function signWipe(context: SignContext): Promise<ReceiptRow> {
  const { db, secrets, node, flow, clock, config, ask } = context;
  const kept = await ask(findReceiptOfFlow(db, flow.uuid));
  if (kept) return kept;
  const { result, wipedAt } = readWipe(await ask(listSteps(db, flow.uuid)));
  const ports = await context.ports();
  const machine = await ask(readMachine(db, node, ports));
  const facts = {
    ...machine,
    id: randomUUID(),
    conductor: { name: config.conductorName },
    agent: {
      version: result.agent_version,
      hardware_managers: flow.hardwareManagerVersion ?? {},
    },
    preserveLocalStorage: flow.wipe?.preserveLocalStorage ?? false,
    result,
    switch_ports: await ask(readSwitchPorts(db, ports)),
    flows: { teardown: await ask(findTeardownBefore(db, flow)), wipe: flow.uuid },
    site_action: flow.actionId,
    requested_by: flow.requestedBy,
  };
  return context.record(async (tx) => {
    const key = await holdSigningKey(tx, secrets);
    const signedAt = clock.now();
    const receipt = composeReceipt({ ...facts, times: { started: flow.startedAt, wiped: wipedAt, signed: signedAt } });
    const row = await keepReceipt(tx, {
      uuid: receipt.id,
      flowUuid: flow.uuid,
      nodeUuid: node.uuid,
      nodeName: node.name,
      serialNumber: receipt.node.serial_number,
      actionId: flow.actionId,
      preserveLocalStorage: receipt.preserve_local_storage,
      disksWiped: receipt.disks_wiped.length,
      disksLeftAlone: receipt.disks_left_alone.length,
      keyFingerprint: key.fingerprint,
      signedAt,
      envelope: sealEnvelope(Buffer.from(JSON.stringify(receipt)), key),
    });
    if (row.uuid !== receipt.id) return row;
    await addHistory(tx, {
      nodeUuid: node.uuid,
      eventType: 'receipt',
      event: `receipt ${row.uuid} signed: ${row.disksWiped} disks wiped, ${row.disksLeftAlone} left alone`,
      conductor: config.conductorName,
    });
    return row;
  });
}

/** Reads the answer of the last of the flow's wipes: another ramdisk may have made it start over. */
function readWipe(steps: readonly FlowStepRow[]): { readonly result: ProvedWipe; readonly wipedAt: Date } {
  const wipe = steps.findLast((step) => step.interface === 'deploy' && step.step === 'wipe_disks');
  if (wipe?.state !== 'succeeded' || wipe.endedAt === null) {
    throw new AppError(
      'storage_error',
      `no receipt is signed: the disks' wipe is ${wipe?.state ?? 'not a step of the flow'}`,
    );
  }
  const parsed = ProvedWipe.safeParse(wipe.output);
  if (parsed.success) return { result: parsed.data, wipedAt: wipe.endedAt };
  throw new AppError('storage_error', "no receipt is signed: the wipe's result says nothing about its disks", {
    cause: parsed.error,
  });
}

export const signReceipt: ConductorStep = {
  interface: 'deploy',
  step: 'sign_receipt',
  description: 'Signs a receipt of what was wiped, how, and the proof; a wipe without proof fails here.',
  run: async (context) => {
    const { uuid, keyFingerprint } = await signWipe(context);
    return { kind: 'done', output: { receipt: uuid, key: keyFingerprint } };
  },
};
