import { describe, expect, test } from 'vitest';
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

describe('many nodes, by selector', () => {
  const firmware = 'the firmware changed 1.2 → 1.3 (PCR 0)';
  const secureBoot = 'Secure Boot was on and is off (PCR 7)';
  const at = '2026-11-29T10:00:00.000000+00:00';
  const tpmOf = (name: string, verdict: string, reasons: readonly string[], by: string | null = null) => ({
    verdict,
    reasons,
    attested_at: at,
    tpm: { fingerprint: name.repeat(32) },
    accepted: { at: '2026-11-29T11:00:00.000000+00:00', by },
    other: { at, tpm: { fingerprint: theirs } },
  });
  const tpms: Record<string, ReturnType<typeof tpmOf> | undefined> = {
    n1: tpmOf('n1', 'changed', [firmware]),
    n2: tpmOf('n2', 'changed', [firmware, secureBoot]),
    n3: tpmOf('n3', 'trusted', []),
    n4: tpmOf('n4', 'changed', [firmware], 'ada'),
    n5: undefined,
    n6: tpmOf('n6', 'changed', []),
  };
  const terminalOf = () =>
    createRecordingTerminal((request) => {
      const [, name = ''] = /nodes\/([^/]+)\/tpm/.exec(request) ?? [];
      if (request.startsWith('GET /v1/nodes?'))
        return { nodes: Object.keys(tpms).map((each) => ({ name: each, uuid: each })) };
      return tpms[name];
    });
  const puts = (terminal: ReturnType<typeof terminalOf>) =>
    terminal.calls.filter(([request]) => request.startsWith('PUT'));

  test('are shown with what would be accepted, and left alone', async () => {
    const terminal = terminalOf();
    const output = await terminal.run('tpm', 'accept', '--class', 'gold');
    expect(output.trim().split('\n').sort()).toEqual([
      `n1: not accepted yet; --yes accepts: changed: ${firmware}`,
      `n2: not accepted yet; --yes accepts: changed: ${firmware}; ${secureBoot}`,
      'n3: nothing to accept: trusted',
      `n4: accepted before: changed: ${firmware}`,
      'n5: nothing to accept: no boot was attested',
      'n6: not accepted yet; --yes accepts: changed',
    ]);
    expect(puts(terminal)).toEqual([]);
  });

  test('are accepted with --yes, each its own TPM with the boot that was read, and only for the reasons that are named', async () => {
    const terminal = terminalOf();
    const output = await terminal.run('tpm', 'accept', '--class', 'gold', '--yes', '--reason', firmware);
    expect(puts(terminal)).toEqual([
      ['PUT /v1/nodes/n1/tpm/accepted', { fingerprint: 'n1'.repeat(32), attested_at: at }],
    ]);
    expect(output).toContain(`n1: accepted: changed: ${firmware}\n`);
    expect(output).toContain(`n2: left alone, for its reasons are others: changed: ${firmware}; ${secureBoot}\n`);
    const all = terminalOf();
    await all.run('tpm', 'accept', '--class', 'gold', '--yes');
    expect(puts(all).map(([request]) => request)).toEqual([
      'PUT /v1/nodes/n1/tpm/accepted',
      'PUT /v1/nodes/n2/tpm/accepted',
      'PUT /v1/nodes/n6/tpm/accepted',
    ]);
  });

  test.each([
    ['a node without a fingerprint', ['n1'], 'it takes NODE [FINGERPRINT]'],
    ['a fingerprint of all', ['--class', 'gold', own], 'a fingerprint is of one TPM'],
    ['--yes without a selector', ['n1', own, '--yes'], '--yes: with a selector'],
    ['--reason without a selector', ['n1', own, '--reason', firmware], '--reason: it chooses among selected nodes'],
  ])('%s is refused, and nothing is accepted', async (_, args, reason) => {
    const terminal = terminalOf();
    await expect(terminal.run('tpm', 'accept', ...args)).rejects.toThrow(reason);
    expect(puts(terminal)).toEqual([]);
  });
});
