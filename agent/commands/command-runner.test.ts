import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineCommand } from '#agent/commands/command.ts';
import { CommandRunner } from '#agent/commands/command-runner.ts';
import type { CommandTable } from '#agent/commands/command-table.ts';
import { fakeServices } from '#agent/testing/fake-services.ts';
import { AppError } from '#shared/errors/app-error.ts';

function setUp() {
  const gate = Promise.withResolvers<unknown>();
  const calls: unknown[] = [];
  const ended: string[] = [];
  const table: CommandTable = {
    t: {
      slow: defineCommand({
        kind: 'async',
        params: z.looseObject({}),
        run: (_services, params) => {
          calls.push(params);
          return gate.promise;
        },
      }),
      text: defineCommand({ kind: 'async', params: z.strictObject({}), run: async () => 'written' }),
      sync_text: defineCommand({ kind: 'sync', params: z.strictObject({}), run: async () => 'written' }),
      nothing: defineCommand({ kind: 'sync', params: z.strictObject({}), run: async () => undefined }),
      strict: defineCommand({ kind: 'sync', params: z.strictObject({ size: z.number() }), run: async () => ({}) }),
      look: defineCommand({
        kind: 'sync',
        params: z.strictObject({}),
        whileBusy: true,
        run: async () => undefined,
      }),
      broken: defineCommand({
        kind: 'sync',
        params: z.strictObject({}),
        run: () => Promise.reject(new AppError('storage_error', 'read /dev/vda', { cause: new Error('EIO') })),
      }),
    },
  };
  const runner = new CommandRunner(table, fakeServices(), (id) => ended.push(id));
  return { runner, gate, calls, ended };
}

const keys = ['id', 'command_name', 'command_status', 'command_error', 'command_result'];

describe('CommandRunner', () => {
  test('an asynchronous command runs on; results have exactly five keys', async () => {
    const { runner, gate, ended } = setUp();
    const started = await runner.start('t.slow', {});
    expect(Object.keys(started)).toEqual(keys);
    expect(started).toMatchObject({ command_name: 'slow', command_status: 'RUNNING', command_result: null });
    expect(ended).toEqual([]);
    gate.resolve({ a: 1 });
    expect(await runner.wait(started.id)).toEqual({
      id: started.id,
      command_name: 'slow',
      command_status: 'SUCCEEDED',
      command_error: null,
      command_result: { a: 1 },
    });
    expect(ended).toEqual([started.id]);
  });

  test('text results follow the convention, nothing is null', async () => {
    const { runner } = setUp();
    const text = await runner.start('t.text', {});
    expect((await runner.wait(text.id)).command_result).toEqual({ result: 'text: written' });
    expect((await runner.start('t.sync_text', {})).command_result).toEqual({ result: 'written' });
    expect((await runner.start('t.nothing', {})).command_result).toBeNull();
    expect(runner.list().map((result) => result.command_name)).toEqual(['text', 'sync_text', 'nothing']);
  });

  test('only one command at a time, also of two that come at once', async () => {
    const { runner, gate, calls } = setUp();
    const [first, second] = await Promise.allSettled([runner.start('t.slow', {}), runner.start('t.slow', {})]);
    expect(first.status).toBe('fulfilled');
    expect(second).toMatchObject({ status: 'rejected', reason: { code: 409 } });
    const busy = 'Agent is busy: executing command slow';
    await expect(runner.start('t.nothing', {})).rejects.toThrow(busy);
    expect(await runner.start('t.look', {})).toMatchObject({ command_status: 'SUCCEEDED' });
    await expect(runner.start('t.nothing', {}), 'what ran beside it frees nobody').rejects.toThrow(busy);
    expect(calls).toHaveLength(1);
    gate.resolve(null);
    await runner.wait(runner.list()[0]?.id ?? '');
    expect((await runner.start('t.nothing', {})).command_status).toBe('SUCCEEDED');
  });

  test("a repeated request with Baton's command id gets the same command, running or ended", async () => {
    const { runner, gate, calls } = setUp();
    const params = { step: { interface: 'deploy', step: 'x', baton_command_id: 'flow-step-1' } };
    const started = await runner.start('t.slow', params);
    expect(started.id).toBe('flow-step-1');
    expect(await runner.start('t.slow', params)).toEqual(started);
    gate.resolve('done');
    await runner.wait('flow-step-1');
    expect((await runner.start('t.slow', params)).command_status).toBe('SUCCEEDED');
    expect(calls).toHaveLength(1);
    await expect(runner.start('t.text', params)).rejects.toMatchObject({ type: 'InvalidCommandParamsError' });
  });

  test('a failed synchronous command is an ordinary result and spoils nothing', async () => {
    const { runner } = setUp();
    expect(await runner.start('t.broken', {})).toMatchObject({
      command_status: 'FAILED',
      command_result: null,
      command_error: {
        type: 'CommandExecutionError',
        code: 500,
        message: 'Command execution failed',
        details: 'read /dev/vda: EIO',
        baton_code: 'storage_error',
      },
    });
    expect(() => JSON.stringify(runner.list())).not.toThrow();
  });

  test.each([
    ['strict', {}, 'Invalid command parameters: size: '],
    ['strict', { size: 1, bogus: 2 }, 'bogus'],
    ['strict', { size: 'big' }, 'size: '],
  ])('bad parameters of %s %j are refused and not recorded', async (command, params, message) => {
    const { runner } = setUp();
    await expect(runner.start(`t.${command}`, params)).rejects.toThrow(message);
    expect(runner.list()).toEqual([]);
  });

  test.each([
    ['x', 400, 'Invalid command: Command name must be of the form <extension>.<name>'],
    ['nope.x', 404, 'Not found: Extension with id nope not found.'],
    ['t.nope', 400, 'Invalid command: Unknown command: nope'],
    ['t.toString', 400, 'Invalid command: Unknown command: toString'],
    ['__proto__.x', 404, 'Not found: Extension with id __proto__ not found.'],
  ])('%s is unknown', async (name, code, message) => {
    const { runner } = setUp();
    await expect(runner.start(name, {})).rejects.toMatchObject({ code, message });
  });

  test('an unknown id is not found', async () => {
    const { runner } = setUp();
    expect(() => runner.get('zzz')).toThrow('Not found: Command Result with id zzz not found.');
    await expect(runner.wait('zzz')).rejects.toMatchObject({ code: 404 });
  });
});
