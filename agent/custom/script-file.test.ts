import { describe, expect, test } from 'vitest';
import { argText, parseScriptFile } from '#agent/custom/script-file.ts';

const step = {
  interface: 'deploy',
  step: 'tune',
  description: 'tunes',
  priority: { deploy: 70 },
  command: ['./tune'],
};

/** JSON is YAML. */
const parse = (...steps: unknown[]) => parseScriptFile(JSON.stringify({ steps }), 'tune.yaml');

describe('parseScriptFile', () => {
  test('fills in what a short file leaves out', () => {
    expect(parse(step)).toEqual({
      version: '1',
      support: 'mainline',
      steps: [{ ...step, destroys: 'unknown', abortable: false, reboot_requested: false, timeout: 600, args: {} }],
    });
  });

  test.each([
    [{ ...step, interface: 'disk' }, /^tune\.yaml: steps\.0\.interface: .*"vendor"/],
    [{ ...step, step: 'Tune!' }, 'steps.0.step: lower-case letters'],
    [{ ...step, priority: { deploy: 100 } }, 'steps.0.priority.deploy: it must be 41 to 99, or 0'],
    [{ ...step, priority: {} }, 'steps.0.priority: it must have deploy, clean or service'],
    [{ ...step, command: [] }, 'steps.0.command'],
    [{ ...step, must_not_lose_power: -1 }, 'steps.0.must_not_lose_power'],
    [{ ...step, must_not_lose_power: 86_400 * 8 }, 'steps.0.must_not_lose_power'],
    [{ ...step, shell: 'rm -rf /' }, 'Unrecognized key: "shell"'],
    [{ ...step, args: { Text: { type: 'string', description: 'x' } } }, 'steps.0.args.Text'],
    [{ ...step, args: { a: { type: 'text', description: 'x' } } }, 'steps.0.args.a.type'],
    [{ ...step, args: { a: { type: 'string', description: 'x', pattern: '(' } } }, 'it must be a regular expression'],
    [
      { ...step, args: { a: { type: 'string', description: 'x', required: true } } },
      'with a priority for deploy it runs without being asked for: a need a default',
    ],
  ])('%# refuses %j', (wrong, fault) => expect(() => parse(wrong)).toThrow(fault));

  test('names a file that is not YAML', () => {
    expect(() => parseScriptFile('steps: [', 'bad.yaml')).toThrow('bad.yaml is not valid YAML');
  });
});

test.each([
  ['a b', 'a b'],
  [true, '1'],
  [false, ''],
  [3, '3'],
  [['x', 1], '["x",1]'],
])('%j is %s in the environment', (value, text) => expect(argText(value)).toBe(text));
