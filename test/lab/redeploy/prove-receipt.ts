import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { ReceiptAnswer } from '#conductor/api/records.ts';
import { WipeReceipt } from '#conductor/model/receipts/verify-receipt.ts';
import { run } from '#shared/process/run.ts';
import { baton } from '#test/lab/baton-command.ts';
import type { Lab, LabNode } from '#test/lab/lab.ts';
import type { Proof } from '#test/lab/proofs/proof.ts';
import { batonProgram } from '#test/support/programs.ts';

export interface ExpectedReceipt {
  readonly preserve: boolean;
  /** How many receipts of the node there must be: one for each wipe. */
  readonly count: number;
  /** Gets what the verification prints. */
  readonly show: (line: string) => void;
}

const Verified = z.object({ verified: z.literal(true), receipt: WipeReceipt });

/** The newest receipt of the machine, fetched with its key, and then verified where there is no network at all. */
export async function proveReceipt(
  lab: Lab,
  node: LabNode,
  { preserve, count, show }: ExpectedReceipt,
): Promise<Proof[]> {
  const listed = await baton(lab, ['receipt', 'list', '--node', node.name, '-o', 'json']);
  const receipts = JSON.parse(listed.stdout) as readonly ReceiptAnswer[];
  const [newest] = receipts;
  const one = { what: 'a receipt for each wipe', holds: receipts.length === count, seen: `${receipts.length}` };
  if (!newest) return [one];
  const file = join(lab.directory.path, `receipt-${count}.json`);
  const keyFile = join(lab.directory.path, `receipt-${count}.pem`);
  await baton(lab, ['receipt', 'show', newest.id, '--out', file]);
  await baton(lab, ['receipt', 'key', newest.key, '--out', keyFile]);
  for (const line of (await verifyOffline(file, keyFile)).stdout.split('\n')) if (line !== '') show(line);
  const { receipt } = Verified.parse(JSON.parse((await verifyOffline(file, keyFile, ['-o', 'json'])).stdout));
  const serials = node.machine.diskFiles.map((_, index) => `LAB${node.name.toUpperCase()}D${index}`);
  const wiped = receipt.disks_wiped.map(({ serial }) => serial ?? 'no serial').toSorted();
  const kept = receipt.disks_left_alone.map(({ serial }) => serial ?? 'no serial').toSorted();
  const expected = preserve ? { wiped: serials.slice(0, 1), kept: serials.slice(1) } : { wiped: serials, kept: [] };
  const methods = receipt.disks_wiped.map(({ serial, method, proof }) => {
    return `${serial} by ${method}, ${proof.canaries} canaries`;
  });
  return [
    one,
    {
      what: `the receipt lists ${expected.wiped.length} wiped, ${expected.kept.length} preserved`,
      holds:
        wiped.join() === expected.wiped.join() &&
        kept.join() === expected.kept.join() &&
        receipt.preserve_local_storage === preserve &&
        receipt.node.name === node.name,
      seen: `${methods.join('; ')}${kept.length > 0 ? `; left alone: ${kept.join(', ')}` : ''}`,
    },
    await proveSignature(file, keyFile),
  ];
}

/** One that has been altered must not pass: else that of the true one says nothing. */
async function proveSignature(file: string, keyFile: string): Promise<Proof> {
  const envelope = JSON.parse(readFileSync(file, 'utf8')) as { payload: string };
  const payload = Buffer.from(envelope.payload, 'base64').toString().replace('"preserve_local_storage":', '"x":');
  const forged = `${file}.forged`;
  writeFileSync(forged, JSON.stringify({ ...envelope, payload: Buffer.from(payload).toString('base64') }));
  const [true_, false_] = await Promise.all([verifyOffline(file, keyFile), verifyOffline(forged, keyFile)]);
  return {
    what: 'baton receipt verify, offline: right as signed, wrong when altered',
    holds: true_.exitCode === 0 && false_.exitCode !== 0,
    seen: `exit ${true_.exitCode} and ${false_.exitCode}`,
  };
}

function verifyOffline(file: string, keyFile: string, more: readonly string[] = []) {
  const command = [batonProgram, 'receipt', 'verify', file, '--key', keyFile];
  const okExitCodes = Array.from({ length: 256 }, (_, code) => code);
  return run('unshare', ['--net', ...command, ...more], { okExitCodes });
}
