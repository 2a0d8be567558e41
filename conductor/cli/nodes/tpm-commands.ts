import type { NodeTpmAnswer } from '#conductor/api/attestation.ts';
import { callFor, noNode, readOfNode } from '#conductor/cli/shell/api-client.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  flagOption,
  listOption,
  pathOperand,
} from '#conductor/cli/shell/command.ts';
import { onNodes } from '#conductor/cli/shell/on-nodes.ts';
import { cell, print } from '#conductor/cli/shell/print.ts';
import { printable } from '#conductor/cli/shell/screen.ts';
import { usageError } from '#conductor/cli/shell/usage-error.ts';
import { isAcceptedSince } from '#conductor/model/tpm/accepted-since.ts';

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

/** Accepts one of the node's TPMs by its fingerprint. */
async function acceptOne(context: CommandContext, input: CommandInput, given: string): Promise<void> {
  if (listOption(input, 'reason').length > 0)
    throw usageError('--reason: it chooses among selected nodes; a fingerprint names what is accepted');
  const node = pathOperand(input);
  const shown = await readOfNode<NodeTpmAnswer>(context.client, node, '/tpm');
  const other = shown.other && { ...shown.other.tpm, at: shown.other.at };
  const meant = [{ ...shown.tpm, at: shown.attested_at }, other].find(
    (tpm) => given.length >= 16 && tpm?.fingerprint.startsWith(given.toLowerCase()),
  );
  if (!meant)
    throw usageError(
      `no TPM of that fingerprint has asked for the node; \`baton tpm show ${cell(input.operands[0])}\` has them`,
    );
  const accepted = await putAccepted(context, node, meant.fingerprint, meant.at);
  print(context, input, {
    json: accepted,
    text: `node ${decodeURIComponent(node)}: TPM ${meant.fingerprint} accepted\n`,
  });
}

/** @param at time of the boot that was read: none that has come since is accepted */
async function putAccepted(
  { client }: CommandContext,
  node: string,
  fingerprint: string,
  at: string,
): Promise<NodeTpmAnswer> {
  const body = { fingerprint, attested_at: at };
  const accepted = await callFor<NodeTpmAnswer>(client, 'PUT', `/v1/nodes/${node}/tpm/accepted`, body);
  if (!accepted) throw noNode(node);
  return accepted;
}

/**
 * Accepts the newest boot of a selected node's own TPM, where it was not trusted, or says that it would: another TPM that has
 * asked is never accepted without its fingerprint.
 */
async function acceptSelected(context: CommandContext, input: CommandInput): Promise<void> {
  const node = pathOperand(input);
  const reasons = listOption(input, 'reason');
  // 404: no boot was attested
  const tpm = await callFor<NodeTpmAnswer>(context.client, 'GET', `/v1/nodes/${node}/tpm`);
  const say = (outcome: string, json: object = {}): void => {
    const because = tpm && [tpm.verdict, ...(tpm.reasons.length > 0 ? [tpm.reasons.join('; ')] : [])].join(': ');
    const text = `${printable(`${outcome}: ${because ?? 'no boot was attested'}`)}\n`;
    print(context, input, { json: { name: input.operands[0], outcome, ...json }, text });
  };
  if (!tpm || tpm.verdict === 'trusted') return say('nothing to accept');
  if (isAcceptedSince({ by: tpm.accepted.by, at: new Date(tpm.accepted.at) }, new Date(tpm.attested_at)))
    return say('accepted before');
  const seen = { verdict: tpm.verdict, reasons: tpm.reasons, fingerprint: tpm.tpm.fingerprint };
  const isMeant = tpm.reasons.length > 0 && tpm.reasons.every((reason) => reasons.includes(reason));
  if (reasons.length > 0 && !isMeant) return say('left alone, for its reasons are others', seen);
  if (!flagOption(input, 'yes')) return say('not accepted yet; --yes accepts', seen);
  await putAccepted(context, node, tpm.tpm.fingerprint, tpm.attested_at);
  return say('accepted', seen);
}

const acceptAny: Command = onNodes(
  {
    words: 'tpm accept',
    operands: ['NODE', '[FINGERPRINT]'],
    meaning: "accept a TPM, and its newest boot, as a node's",
    options: {
      reason: {
        value: 'TEXT',
        repeats: true,
        meaning: 'with a selector: only boots whose every reason is one of these, as `baton tpm show` has them',
      },
      yes: { meaning: 'with a selector: accept them; without it they are shown and left alone' },
    },
    details:
      'After firmware was updated or Secure Boot set otherwise, with the fingerprint of its TPM; after a mainboard was ' +
      'replaced, with that of the other TPM, as `baton tpm show NODE` has them (the first 16 digits suffice). Compare another ' +
      "TPM's with the machine's papers: any stranger on its network may have asked. With a selector, as after firmware was " +
      'updated on many, the newest boots of their own TPMs are shown with their reasons, and accepted with --yes.',
    run: (context, input) => {
      const [, given] = input.operands;
      return given === undefined ? acceptSelected(context, input) : acceptOne(context, input, given);
    },
  },
  { reads: true },
);

const accept: Command = {
  ...acceptAny,
  run: async (context, input) => {
    const [only = ''] = input.operands;
    if (input.operands.length === 1 && /^[0-9a-f]{16,64}$/i.test(only))
      throw usageError('a fingerprint is of one TPM: name its node before it, or select nodes without it');
    await acceptAny.run(context, input);
  },
};

export const tpmCommands: readonly Command[] = [show, accept];
