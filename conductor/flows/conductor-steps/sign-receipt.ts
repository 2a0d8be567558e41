import { createHash, randomUUID } from 'node:crypto';
import { askForQuote } from '#conductor/agents/ask-for-quote.ts';
import { listSteps } from '#conductor/flows/log/flow-store.ts';
import type { ConductorStep, StepContext } from '#conductor/flows/step-context.ts';
import type { FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import type { ReceiptRow } from '#conductor/kernel/db/schema/receipt.ts';
import { sealEnvelope } from '#conductor/model/receipts/envelope.ts';
import { parseReceipt, type WipeReceipt } from '#conductor/model/receipts/verify-receipt.ts';
import { requestIdsOf } from '#conductor/model/request-ids.ts';
import type { BootAttestation } from '#conductor/model/tpm/boot-attestation.ts';
import { plainSignature } from '#conductor/model/tpm/plain-signature.ts';
import { readAttestationKey } from '#conductor/model/tpm/public-area.ts';
import { showTpm } from '#conductor/model/tpm/show-tpm.ts';
import { verifyQuote } from '#conductor/model/tpm/verify-quote.ts';
import { addHistory } from '#conductor/nodes/node-history.ts';
import {
  composeEnd,
  composeWipe,
  findTeardownBefore,
  ProvedWipe,
  readMachine,
  readSwitchPorts,
  type WipeFacts,
} from '#conductor/receipts/compose-receipt.ts';
import { findReceiptOfFlow, keepReceipt } from '#conductor/receipts/receipt-store.ts';
import { holdSigningKey } from '#conductor/receipts/signing-key-store.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { quotedPcrs, type TpmQuote } from '#shared/wire/attestation.ts';

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
  const facts = result.quoted ? undefined : await readWipeFacts(context, result, null);
  const switchPorts = await ask(readSwitchPorts(db, ports));
  return context.record(async (tx) => {
    const key = await holdSigningKey(tx, secrets);
    const signedAt = clock.now();
    const end = composeEnd({
      switch_ports: switchPorts,
      site_action: flow.actionId,
      requested_by: flow.requestedBy,
      times: { started: flow.startedAt, wiped: wipedAt, signed: signedAt },
      ...readQuote(result.quoted),
    });
    // the TPM has signed the beginning as it is, to the byte
    const beginning = result.quoted?.beginning ?? (facts && JSON.stringify(composeWipe(facts)).slice(0, -1));
    const payload = `${beginning},${JSON.stringify(end).slice(1)}`;
    const receipt = parseReceipt(payload);
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
      envelope: sealEnvelope(Buffer.from(payload), key),
    });
    if (row.uuid !== receipt.id) return row;
    await addHistory(tx, {
      nodeUuid: node.uuid,
      eventType: 'receipt',
      event: `receipt ${row.uuid} signed: ${row.disksWiped} disks wiped, ${row.disksLeftAlone} left alone`,
      conductor: config.conductorName,
      ...requestIdsOf(flow),
    });
    return row;
  });
}

function readQuote(quoted: ProvedWipe['quoted']): Pick<WipeReceipt, 'tpm_quote' | 'tpm_quote_problem'> {
  if (!quoted?.quote) return { tpm_quote: null, tpm_quote_problem: quoted?.problem ?? null };
  const { quote, signature, pcr_values } = quoted.quote;
  const tpmQuote = {
    quoted_bytes: Buffer.byteLength(quoted.beginning),
    quote,
    signature: plainSignature(Buffer.from(signature, 'base64')).toString('base64'),
    tpm_signature: signature,
    pcr_values,
  };
  return { tpm_quote: tpmQuote, tpm_quote_problem: null };
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

type FactsContext = Pick<StepContext, 'db' | 'config' | 'node' | 'flow' | 'ports' | 'ask'>;

/** Reads what a receipt of the flow's wipe says, as far as it is known when the disks are wiped. */
async function readWipeFacts(
  context: FactsContext,
  result: Pick<ProvedWipe, 'erased' | 'skipped' | 'warnings' | 'agent_version'>,
  attestation: BootAttestation | null | undefined,
): Promise<WipeFacts> {
  const { db, node, flow, config, ask } = context;
  return {
    ...(await ask(readMachine(db, node, await context.ports()))),
    id: randomUUID(),
    conductor: { name: config.conductorName },
    agent: { version: result.agent_version, hardware_managers: flow.hardwareManagerVersion ?? {} },
    preserveLocalStorage: flow.wipe?.preserveLocalStorage ?? false,
    result,
    flows: { teardown: await ask(findTeardownBefore(db, flow)), wipe: flow.uuid },
    attestation: attestation ? viewAttestation(attestation) : null,
  };
}

function viewAttestation({ verdict, reasons, at, keys }: BootAttestation): WipeReceipt['attestation'] {
  const tpm = keys && {
    ...showTpm(keys.ekPublic, keys.ekCertificate ?? null),
    attestation_key: readAttestationKey(Buffer.from(keys.akPublic, 'base64'))
      .key.export({ format: 'pem', type: 'spki' })
      .toString(),
  };
  return { verdict, reasons: [...reasons], at, tpm: tpm ?? null };
}

type QuoteContext = Pick<
  StepContext,
  'db' | 'config' | 'node' | 'flow' | 'ports' | 'ask' | 'session' | 'agent' | 'signal'
>;

/**
 * Has the machine's TPM sign the beginning of the wipe's receipt, while its ramdisk still runs: all that is known as the
 * disks are wiped. The disks are wiped by then, so that trouble with the TPM is written down and fails nothing.
 * @returns `undefined` where the boot was not attested
 */
export async function quoteWipe(
  context: QuoteContext,
  result: Omit<ProvedWipe, 'quoted'>,
): Promise<ProvedWipe['quoted']> {
  const attestation = context.session?.attestation;
  if (!attestation) return null;
  const beginning = JSON.stringify(composeWipe(await readWipeFacts(context, result, attestation))).slice(0, -1);
  try {
    return { beginning, quote: await quote(context, attestation, beginning), problem: null };
  } catch (error) {
    context.signal.throwIfAborted();
    if (!(error instanceof AppError)) throw error;
    return { beginning, quote: null, problem: errorChain(error) };
  }
}

/** @throws AppError when the agent has no quote, or one that proves something else */
async function quote(context: QuoteContext, { keys, pcrs }: BootAttestation, beginning: string): Promise<TpmQuote> {
  if (!keys || !pcrs) throw new AppError('not_found', 'no TPM has proved this boot');
  const nonce = createHash('sha256').update(beginning).digest();
  const given = await askForQuote(context.agent(), nonce);
  const pcrValues = new Map(Object.entries(given.pcr_values).map(([pcr, value]) => [Number(pcr), value] as const));
  const evidence = { quote: Buffer.from(given.quote, 'base64'), signature: Buffer.from(given.signature, 'base64') };
  verifyQuote({ ...evidence, pcrValues }, readAttestationKey(Buffer.from(keys.akPublic, 'base64')), {
    nonce,
    pcrs: quotedPcrs,
  });
  const changed = quotedPcrs.filter((pcr) => given.pcr_values[pcr] !== pcrs[pcr]);
  if (changed.length > 0)
    throw new AppError('agent_error', `since the boot was attested PCR ${changed.join(', ')} changed`);
  return given;
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
