import type { NodeTpmAnswer } from '#conductor/api/attestation.ts';
import { callFor, noNode, readOfNode } from '#conductor/cli/shell/api-client.ts';
import { type Command, pathOperand } from '#conductor/cli/shell/command.ts';
import { print } from '#conductor/cli/shell/print.ts';
import { printable } from '#conductor/cli/shell/screen.ts';

/** A TPM, and what its newest boot has proved, as people read it. Pure. */
function renderTpm(tpm: NodeTpmAnswer): string {
  const { boot, accepted, tpm: seen } = tpm;
  const isSame = seen.fingerprint === accepted.tpm.fingerprint;
  const secureBoot = boot?.secure_boot;
  const lines = [
    `verdict      ${tpm.verdict}, on the boot of ${tpm.attested_at}`,
    ...tpm.reasons.map((reason) => `             ${reason}`),
    `tpm          ${seen.fingerprint}${isSame ? '' : ' (NOT the one that was accepted)'}`,
    `certificate  ${seen.certificate === null ? "none in the TPM: its vendor's word is missing" : "the vendor's (see --json)"}`,
    `firmware     ${boot === null ? 'not measured' : (boot.firmware_version ?? 'does not name itself')}`,
    `secure boot  ${secureBoot == null ? 'not measured' : secureBoot ? 'on' : 'off'}`,
    `accepted     ${accepted.tpm.fingerprint.slice(0, 16)}… at ${accepted.at}${
      accepted.by === null ? ', the first that the node was seen with' : ` by ${accepted.by}`
    }`,
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
  operands: ['NODE'],
  meaning: "accept a node's TPM and firmware as they were seen last",
  details:
    'After a mainboard was replaced, firmware updated, or Secure Boot set otherwise: later boots are compared with this one. ' +
    'Look at `baton tpm show NODE` first.',
  run: async (context, input) => {
    const node = pathOperand(input);
    const { tpm } = await readOfNode<NodeTpmAnswer>(context.client, node, '/tpm');
    const { fingerprint } = tpm;
    const path = `/v1/nodes/${node}/tpm/accepted`;
    const accepted = await callFor<NodeTpmAnswer>(context.client, 'PUT', path, { fingerprint });
    if (!accepted) throw noNode(node);
    print(context, input, { json: accepted, text: `node ${decodeURIComponent(node)}: TPM ${fingerprint} accepted\n` });
  },
};

export const tpmCommands: readonly Command[] = [show, accept];
