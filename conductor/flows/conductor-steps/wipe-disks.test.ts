import { describe, expect, test } from 'vitest';
import { readProved, wipeDisks } from '#conductor/flows/conductor-steps/wipe-disks.ts';
import type { StepContext } from '#conductor/flows/step-context.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import type { CommandRequest, CommandResult } from '#shared/wire/agent-calls.ts';
import { OsDisk } from '#shared/wire/erase-result.ts';
import { recordChanges } from '#test/support/recorded-changes.ts';

const uuid = '11111111-1111-4111-8111-111111111111';
const proof = { canaries: 64, samples: 192, reads: 'zeros' };
const disk = (letter: string, more: object = {}) => ({
  device: `/dev/sd${letter}`,
  serial: letter.toUpperCase(),
  wwn: null,
  model: null,
  ...more,
});
const erased = (letter: string, more: object = {}) =>
  disk(letter, { method: 'discard', bytes: 10, seconds: 1, proof, ...more });
const preserved = 'local storage is preserved';
const osDisk = OsDisk.parse({ disks: [{ name: '/dev/sda', serial: 'A' }] });

interface Situation {
  readonly preserve?: boolean;
  readonly osDisk?: OsDisk | null;
  readonly result?: object;
  /** argsinfo of the agent's `erase_devices`; `null` = it has no such step. */
  readonly argsinfo?: object | null;
  readonly commands?: readonly CommandResult[];
  readonly isRepeated?: boolean;
  /** Uuid of the last deploy that has come as far as writing an image. */
  readonly lastDeploy?: string;
  /** Disks of the machine now, beside the two that are always there. */
  readonly moreDisks?: readonly object[];
  /** Disks of earlier inventories that are in none since. */
  readonly missing?: readonly object[];
  /** Notes of the step from before. */
  readonly output?: unknown;
  readonly properties?: object;
}

const machine = [
  { name: '/dev/sda', serial: 'A' },
  { name: '/dev/sdb', serial: 'B' },
];

/** Answers each query for the node's inventory, and for its last deploy. */
function databaseWith({ missing = [], moreDisks = [], lastDeploy }: Situation) {
  const inventory = { interfaces: [], disks: [...machine, ...moreDisks] };
  const stored = [{ inventory, missingDisks: missing, collectedAt: new Date(0) }];
  const deploys = lastDeploy === undefined ? [] : [{ uuid: lastDeploy }];
  const found = (rows: readonly object[]) =>
    Object.assign(Promise.resolve(rows), { orderBy: () => ({ limit: () => Promise.resolve(deploys) }) });
  return { select: () => ({ from: () => ({ where: () => found(stored) }) }) };
}

function contextWith({ preserve = false, argsinfo = { only: {} }, ...situation }: Situation) {
  const sent: CommandRequest[] = [];
  const { tx, recorded } = recordChanges();
  const answer = (name: string, result: unknown): CommandResult => ({
    id: uuid,
    command_name: name,
    command_status: 'SUCCEEDED',
    command_error: null,
    command_result: result,
  });
  const steps = argsinfo === null ? [] : [{ interface: 'deploy', step: 'erase_devices', priority: 0, argsinfo }];
  const context = {
    agent: () => ({
      list: () => Promise.resolve(situation.commands ?? []),
      post: (command: CommandRequest) => {
        if (command.name === 'clean.get_clean_steps') {
          return Promise.resolve(answer('x', { clean_steps: { A: steps }, hardware_manager_version: {} }));
        }
        if (command.name === 'poll.get_hardware_info') {
          const disks = [...machine, ...(situation.moreDisks ?? [])];
          return Promise.resolve(answer('x', { interfaces: [], disks }));
        }
        sent.push(command);
        return Promise.resolve(answer('execute_clean_step', { clean_result: situation.result ?? null }));
      },
    }),
    session: { version: '7.1' },
    db: databaseWith(situation),
    isRepeated: situation.isRepeated ?? false,
    step: {
      uuid,
      step: 'wipe_disks',
      interface: 'deploy',
      args: {},
      priority: 0,
      plugin: null,
      output: situation.output ?? null,
    },
    flow: { kind: 'manual_clean', hardwareManagerVersion: {}, wipe: { preserveLocalStorage: preserve } },
    node: {
      uuid,
      name: 'n1',
      driverInfo: {},
      instanceInfo: {},
      properties: situation.properties ?? {},
      extra: {},
      sparedDisks: null,
      osDisk: situation.osDisk === undefined ? osDisk : situation.osDisk,
    },
    ask: <T>(wanted: Promise<T>) => wanted,
    record: (write: (to: Transaction) => Promise<void>) => write(tx),
    ports: () => Promise.resolve([]),
    signal: new AbortController().signal,
    config: { stepTimeoutMs: Infinity, callbackTimeoutMs: 60_000 },
  };
  const run = () => wipeDisks.run(context as unknown as StepContext);
  return { run, sent, recorded };
}

describe('all disks', () => {
  test('are erased by a step of the agent, proved, and the recorded disk is forgotten', async () => {
    const result = { erased: [erased('a'), erased('b')], skipped: [disk('c', { reason: 'it is on the skip list' })] };
    const { run, sent, recorded } = contextWith({
      result,
      moreDisks: [{ name: '/dev/sdc', serial: 'C' }],
      properties: { skip_block_devices: [{ serial: 'C' }] },
    });
    expect(await run()).toEqual({ kind: 'done', output: { ...result, agent_version: '7.1' } });
    expect(sent).toMatchObject([
      { params: { step: { interface: 'deploy', step: 'erase_devices', args: {}, baton_command_id: uuid } } },
    ]);
    expect(recorded).toMatchObject([{ output: { sent: {} } }, { os_disk: null, spared_disks: null }]);
  });

  test('an agent that has the command already is not sent another', async () => {
    const result = { erased: [erased('a'), erased('b')], skipped: [] };
    const [command] = [
      { id: uuid, command_name: 'execute_clean_step', command_status: 'SUCCEEDED', command_error: null },
    ];
    const commands = [{ ...command, command_result: { clean_result: result } }] as CommandResult[];
    const { run, sent } = contextWith({ commands, isRepeated: true });
    expect(await run()).toEqual({ kind: 'done', output: { ...result, agent_version: '7.1' } });
    expect(sent).toEqual([]);
  });
});

describe("the operating system's alone", () => {
  const result = { erased: [erased('a')], skipped: [disk('b', { reason: preserved })] };

  test('as recorded by the deploy, which stays recorded, as does what the next deploy must spare', async () => {
    const { run, sent, recorded } = contextWith({ preserve: true, result });
    expect(await run()).toEqual({ kind: 'done', output: { ...result, agent_version: '7.1' } });
    expect(sent).toMatchObject([{ params: { step: { args: { only: osDisk } } } }]);
    expect(recorded).toMatchObject([
      { output: { sent: { only: osDisk } } },
      { spared_disks: [{ serial: 'B', wwn: null }] },
    ]);
    expect(recorded[1]).not.toHaveProperty('os_disk');
  });

  test('as hints name it where none was recorded; nothing is sent where they name none', async () => {
    const { run, sent } = contextWith({ preserve: true, osDisk: null, result });
    await expect(run()).rejects.toThrow('no deploy has recorded the disk of the operating system');
    expect(sent).toEqual([]);
  });

  test.each([
    [
      { erased: [erased('b')], skipped: [] },
      'the agent was to wipe /dev/sda (serial A) alone, and wiped /dev/sdb (serial B)',
    ],
    [{ erased: [], skipped: [] }, 'was to wipe /dev/sda (serial A) alone, and wiped nothing'],
  ])('another one', async (wrong, why) => {
    await expect(contextWith({ preserve: true, result: wrong }).run()).rejects.toThrow(why);
  });
});

describe('before anything is touched, preserving is refused', () => {
  test.each<[string, Situation, string]>([
    [
      'where another disk has no name of its own',
      { moreDisks: [{ name: '/dev/sdc', size: 5, model: 'DATA' }] },
      "local storage can't be preserved; nothing was touched: /dev/sdc (DATA, 5 bytes) has neither serial number nor WWN",
    ],
    [
      'where a deploy has been since that has recorded nothing',
      { osDisk: { ...osDisk, flow: 'first' } as OsDisk, lastDeploy: 'second' },
      'no deploy has recorded the disk of the operating system',
    ],
  ])('%s', async (_, situation, why) => {
    const { run, sent, recorded } = contextWith({ preserve: true, ...situation });
    await expect(run()).rejects.toThrow(why);
    expect([sent, recorded]).toEqual([[], []]);
  });

  test('but not for what is on the skip list, nor after a deploy that has recorded its disk', async () => {
    const result = { erased: [erased('a')], skipped: [disk('b', { reason: preserved })] };
    const { run, sent } = contextWith({
      preserve: true,
      result,
      osDisk: { ...osDisk, flow: 'last' } as OsDisk,
      lastDeploy: 'last',
      moreDisks: [{ name: '/dev/sdc', size: 5, by_path: '/dev/disk/by-path/pci-3' }],
      properties: { skip_block_devices: [{ by_path: '/dev/disk/by-path/pci-3' }] },
    });
    expect(await run()).toMatchObject({ kind: 'done' });
    expect(sent).toMatchObject([{ params: { step: { args: { only: osDisk } } } }]);
  });

  test('nor for the members of a volume on the skip list', async () => {
    const contents = [{ name: '/dev/md0', type: 'raid1', size: null, label: null }];
    const { run } = contextWith({
      preserve: true,
      result: { erased: [erased('a')], skipped: [disk('b', { reason: preserved })] },
      moreDisks: [
        { name: '/dev/sdc', size: 5, baton_contents: contents },
        { name: '/dev/md0', wwn: 'md-uuid' },
      ],
      properties: { skip_block_devices: [{ wwn: 'md-uuid' }] },
    });
    expect(await run()).toMatchObject({ kind: 'done' });
  });
});

describe('what another conductor has sent for', () => {
  const command = { id: uuid, command_name: 'execute_clean_step', command_status: 'SUCCEEDED', command_error: null };
  const answered = (result: object) => [{ ...command, command_result: { clean_result: result } }] as CommandResult[];
  const byHints = { preserve: true, osDisk: null, isRepeated: true, output: { sent: { only: osDisk } } };

  test('is what must have been wiped, also where hints had named it', async () => {
    const wrong = { erased: [erased('b')], skipped: [disk('a', { reason: preserved })] };
    await expect(contextWith({ ...byHints, commands: answered(wrong) }).run()).rejects.toThrow(
      'the agent was to wipe /dev/sda (serial A) alone, and wiped /dev/sdb (serial B)',
    );
    const right = { erased: [erased('a')], skipped: [disk('b', { reason: preserved })] };
    expect(await contextWith({ ...byHints, commands: answered(right) }).run()).toMatchObject({ kind: 'done' });
  });
});

describe('a wipe of all', () => {
  const both = [erased('a'), erased('b')];
  test.each<[string, Situation, string]>([
    [
      'that has not met a disk of its own boot',
      { result: { erased: [erased('a')], skipped: [] } },
      'the wipe did not find /dev/sdb (serial B), which this machine had',
    ],
    [
      'that has not met a disk which was gone before it began',
      { result: { erased: both, skipped: [] }, missing: [{ name: '/dev/sda', serial: 'DEAD', size: 5 }] },
      'the wipe did not find /dev/sda (serial DEAD), which this machine had',
    ],
    [
      'whose agent invents a skip list',
      { result: { erased: [erased('a')], skipped: [disk('b', { reason: 'it is on the skip list' })] } },
      'for a reason that the conductor does not see (/dev/sdb (serial B): it is on the skip list)',
    ],
    [
      'whose agent takes a disk for virtual media',
      { result: { erased: [erased('a')], skipped: [disk('b', { reason: "it is the BMC's virtual media" })] } },
      "for a reason that the conductor does not see (/dev/sdb (serial B): it is the BMC's virtual media)",
    ],
  ])('%s fails', async (_, situation, why) => {
    await expect(contextWith(situation).run()).rejects.toThrow(why);
  });

  test('believes an agent that leaves the members of a protected array alone', async () => {
    const contents = [{ name: '/dev/md0', type: 'raid1', size: null, label: null }];
    const situation: Situation = {
      moreDisks: [
        { name: '/dev/sdc', serial: 'C', baton_contents: contents },
        { name: '/dev/md0', wwn: 'md-uuid' },
      ],
      properties: { skip_block_devices: [{ wwn: 'md-uuid' }] },
      result: { erased: both, skipped: [disk('c', { reason: 'it is on the skip list' })] },
    };
    expect(await contextWith(situation).run()).toMatchObject({ kind: 'done' });
    const { properties: _, ...unlisted } = situation;
    await expect(contextWith(unlisted).run()).rejects.toThrow('for a reason that the conductor does not see');
  });

  test.each<[string, Situation]>([
    ['on the skip list', { properties: { skip_block_devices: [{ serial: 'GONE' }] } }],
    [
      'virtual media',
      { missing: [{ name: '/dev/sdc', serial: 'GONE', size: 5, tran: 'usb', model: 'Virtual HDisk0' }] },
    ],
    [
      'removable and empty',
      { missing: [{ name: '/dev/sdc', serial: 'GONE', baton_removable: true, baton_contents: [] }] },
    ],
  ])('does without what was %s', async (_, situation) => {
    const missing = [{ name: '/dev/sdc', serial: 'GONE', size: 5 }];
    const result = { erased: both, skipped: [] };
    expect(await contextWith({ result, missing, ...situation }).run()).toMatchObject({ kind: 'done' });
  });
});

test.each([
  [null, 'is missing'],
  [{}, 'has no argument "only"'],
])('another agent (%j) is refused before anything is touched', async (argsinfo, why) => {
  for (const preserve of [false, true]) {
    const { run, sent } = contextWith({ preserve, argsinfo });
    await expect(run()).rejects.toThrow(why);
    await expect(run()).rejects.toMatchObject({
      code: 'agent_error',
      message: expect.stringMatching(/^nothing was touched/),
    });
    expect(sent).toEqual([]);
  }
});

describe('an answer that proves nothing', () => {
  test.each([
    [null, 'does not say what happened to each disk'],
    [{ GenericHardwareManager: null }, 'does not say what happened to each disk'],
    [{ erased: [erased('a', { proof: null })], skipped: [] }, 'does not prove that it has wiped /dev/sda (serial A)'],
    [
      { erased: [erased('a', { proof: { canaries: 0, samples: 8, reads: 'changed' } })], skipped: [] },
      'does not prove that it has wiped /dev/sda (serial A)',
    ],
    [{ erased: [{ device: '/dev/sdb', method: 'x', bytes: 1, seconds: 1 }], skipped: [] }, 'it has wiped /dev/sdb'],
    [
      { erased: [], skipped: [disk('b', { reason: 'it is read-only' })] },
      'not all disks were wiped (/dev/sdb (serial B): it is read-only)',
    ],
  ])('%j', (output, why) => {
    expect(() => readProved(output, false)).toThrow(why);
  });
});
