import type { NodeTpmAnswer } from '#conductor/api/attestation.ts';
import { callFor, noNode, readOfNode } from '#conductor/cli/shell/api-client.ts';
import { type Command, pathOperand } from '#conductor/cli/shell/command.ts';
import { cell, print } from '#conductor/cli/shell/print.ts';
import { printable } from '#conductor/cli/shell/screen.ts';
import { usageError } from '#conductor/cli/shell/usage-error.ts';

/** A TPM, and what its newest boot has proved, as people read it. Pure. */
function renderTpm(tpm: NodeTpmAnswer): string {
  const { boot, accepted, other } = tpm;
  const secureBoot = boot?.secure_boot;
  const certificate = `${tpm.tpm.certificate_state}: ${tpm.tpm.certificate_detail}`;
  const lines = [
    `verdict      ${tpm.verdict}, on the boot of ${tpm.attested_at}`,
    ...tpm.reasons.map((reason) => `             ${reason}`),
    `tpm          ${tpm.tpm.fingerprint}`,
    `certificate  ${certificate}`,
    `firmware     ${boot === null ? 'not measured' : (boot.firmware_version ?? 'does not name itself')}`,
    `secure boot  ${secureBoot == null ? 'not measured' : secureBoot ? 'on' : 'off'}`,
    `accepted     at ${accepted.at}${accepted.by === null ? ', as the first that was seen' : ` by ${accepted.by}`}`,
    ...(other === null
      ? []
      : [
          `ANOTHER TPM  ${other.tpm.fingerprint} has asked for this node at ${other.at}; certificate ${other.tpm.certificate_state}: ${other.tpm.certificate_detail}`,
        ]),
  ];
  return `${lines.map(printable).join('\n')}\n`;
}

const show: Command = {
  words: 'tpm show',
  operands: ['NODE'],
  meaning: "a node's TPM, and what its newest boot has proved",
  details: 'Needs BATON_ATTESTATION. `trusted`: the known machine, with accepted firmware, runs what it was served.',
  run: async (context, input) => {
    const tpm = await readOfNode<NodeTpmAnswer>(context.client, pathOperand(input), '/tpm');
    print(context, input, { json: tpm, text: renderTpm(tpm) });
  },
};

const accept: Command = {
  words: 'tpm accept',
  operands: ['NODE', 'FINGERPRINT'],
  meaning: "accept a TPM, and its newest boot, as a node's",
  details:
    'After firmware was updated or Secure Boot set otherwise, with the fingerprint of its TPM; after a mainboard was ' +
    'replaced, with that of the other TPM, as `baton tpm show NODE` has them (the first 16 digits suffice). Compare another ' +
    "TPM's with the machine's papers: any stranger on its network may have asked.",
  run: async (context, input) => {
    const node = pathOperand(input);
    const [, given = ''] = input.operands;
    const shown = await readOfNode<NodeTpmAnswer>(context.client, node, '/tpm');
    const other = shown.other && { ...shown.other.tpm, at: shown.other.at };
    const meant = [{ ...shown.tpm, at: shown.attested_at }, other].find(
      (tpm) => given.length >= 16 && tpm?.fingerprint.startsWith(given.toLowerCase()),
    );
    if (!meant)
      throw usageError(
        `no TPM of that fingerprint has asked for the node; \`baton tpm show ${cell(input.operands[0])}\` has them`,
      );
    const { fingerprint } = meant;
    const accepted = await callFor<NodeTpmAnswer>(context.client, 'PUT', `/v1/nodes/${node}/tpm/accepted`, {
      fingerprint,
      // not a boot that has come since it was read
      attested_at: meant.at,
    });
    if (!accepted) throw noNode(node);
    print(context, input, { json: accepted, text: `node ${decodeURIComponent(node)}: TPM ${fingerprint} accepted\n` });
  },
};

export const tpmCommands: readonly Command[] = [show, accept];
