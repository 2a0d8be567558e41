import { expect, test } from 'vitest';
import { createRecordingTerminal } from '#conductor/cli/testing/recording-terminal.ts';

const own = 'a'.repeat(64);
const theirs = 'b'.repeat(64);
const shown = {
  attested_at: '2026-11-30T10:00:00.000000+00:00',
  tpm: { fingerprint: own },
  other: { at: '2026-11-30T11:00:00.000000+00:00', tpm: { fingerprint: theirs } },
};

test.each([
  ["the node's own", own, shown.attested_at],
  ['another that has asked', theirs, shown.other.at],
])('a TPM is accepted with the boot that was shown: %s', async (_, fingerprint, at) => {
  const terminal = createRecordingTerminal(() => shown);
  expect(await terminal.run('tpm', 'accept', 'n1', fingerprint.slice(0, 16))).toBe(
    `node n1: TPM ${fingerprint} accepted\n`,
  );
  expect(terminal.calls.at(-1)).toEqual(['PUT /v1/nodes/n1/tpm/accepted', { fingerprint, attested_at: at }]);
});

test.each([['c'.repeat(16)], [own.slice(0, 15)], ['']])(
  'the fingerprint %j names no TPM, and none is accepted',
  async (given) => {
    const terminal = createRecordingTerminal(() => shown);
    await expect(terminal.run('tpm', 'accept', 'n1', given)).rejects.toThrow('no TPM of that fingerprint has asked');
    expect(terminal.calls.map(([request]) => request)).toEqual(['GET /v1/nodes/n1/tpm']);
  },
);
