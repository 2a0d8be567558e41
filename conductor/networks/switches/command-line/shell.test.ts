import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { shell } from '#conductor/networks/switches/command-line/shell.ts';
import { refusalIn, type ShellForm, shellForms } from '#conductor/networks/switches/command-line/shell-forms.ts';
import type { AppError } from '#shared/errors/app-error.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';
import { afterEnter, startRecordedSession } from '#test/simulators/switch/recorded-session.ts';

const outcomes = ['answered', 'refused', 'busy', 'stuck'] as const;
/** By command; words are what the error must name. */
const Reading = z.record(z.string(), z.strictObject({ is: z.enum(outcomes), says: z.string().optional() }));
const recordings = await readRecordings('switch-sessions', Reading);
const forms: Readonly<Record<string, ShellForm>> = shellForms;

/** Nobody waits long for what never comes; what comes late is waited for. */
const waits = { prompt: 3, noAnswer: 5000, noEcho: 5000, stuck: 100 };

async function open(system: string, outputs: Readonly<Record<string, string>>) {
  const form = forms[system];
  if (!form) throw new Error(`${system} has no form`);
  const simulated = await startRecordedSession(outputs);
  onTestFinished(() => simulated.stop());
  const line = await shell(form, waits)(simulated.access, undefined);
  onTestFinished(() => line.close());
  return { line, simulated };
}

test.each(recordings)('$name: $shows', async ({ name, outputs, reading }) => {
  const { line } = await open(name.split('/')[0] ?? '', outputs);
  const found: Record<string, unknown> = {};
  for (const [command, { says = '' }] of Object.entries(reading)) {
    found[command] = await line.run([command]).then(
      ([answer = '']) => (answer.includes(says) ? 'answered' : answer),
      (error: unknown) => {
        const { code, message } = error as AppError;
        const is = code === 'busy' ? 'busy' : /asks what|is no prompt/.test(message) ? 'stuck' : 'refused';
        return message.includes(says) ? is : message;
      },
    );
  }
  expect(found).toEqual(Object.fromEntries(Object.entries(reading).map(([command, { is }]) => [command, is])));
});

test('every system’s way of saving and refusing is among the recordings', () => {
  const systems = new Set(recordings.map(({ name }) => name.split('/')[0]));
  expect(systems).toEqual(new Set(Object.keys(forms)));
});

test.each([
  ['nxos', 'interface Ethernet1/1', 'Cannot run commands in the mode at this moment. Please try again.'],
  ['nxos', 'vlan 3970', 'Error: VLAN 3970 is reserved or internally allocated'],
  ['nxos', 'copy running-config startup-config', '[####  ] 50%\nConfiguration update aborted: system not ready'],
  ['aos-cx', 'write memory', 'Copying configuration: [Failed]'],
  ['aos-cx', 'vlan access 5', 'VLAN 5 does not exist.'],
  ['aos-cx', 'interface lag 7', 'Unable to create the interface'],
  ['aos-cx', 'lag 7', 'Operation not allowed on an interface part of a LAG.'],
  ['aos-cx', 'routing', '% Command not allowed.'],
  ['aos-cx', 'vlan trunk allowed 10', 'Command is not supported on a routed port'],
  [
    'os10',
    'switchport trunk allowed vlan 1,2',
    '% Error: Interface cannot be an access and trunk member of the same VLAN.',
  ],
  ['os10', 'interface vlan 10', '%Error: Unrecognized command.'],
  ['os10', 'switchport mode trunk', '%Error'],
  ['os10', 'interface ethernet 1/1/99', '% Illegal parameter'],
  ['os10', 'no interface vlan 10', 'vlan10 not found'],
  ['eos', 'write memory', '% Error copying system:/running-config (No space left on device)'],
  ['junos', 'set vlans a vlan-id 1', '            ^\npermission denied.'],
  ['ios-xe', 'write memory', ''],
])('%s: after %s, %j is a refusal', (system, command, output) => {
  expect(refusalIn(forms[system] ?? shellForms.eos, command, output)).toEqual(expect.any(String));
});

test.each([
  ['ios-xe', 'interface GigabitEthernet1/0/1', '%Warning: portfast should only be enabled on ports'],
  ['ios-xe', 'exit', '%LINK-3-UPDOWN: Interface GigabitEthernet1/0/1, changed state to up'],
  ['nxos', 'exit', '%ETHPORT-5-IF_UP: Interface Ethernet1/1 is up'],
  ['eos', 'write memory', 'Copy completed successfully.'],
  ['os10', 'copy running-configuration startup-configuration', ''],
  ['os10', 'no switchport', '% Warning: the VLANs of the interface are removed'],
  ['os10', 'show vlan', '    NUM    Status    Description\n    10     Active    host not found'],
  ['aos-cx', 'name baton-10', 'VLAN name baton-10 is already used for VLAN 10.'],
  ['aos-cx', 'show running-config', 'interface 1/1/1\n    description Unable to boot, does not exist'],
])('%s: after %s, %j is none', (system, command, output) => {
  expect(refusalIn(forms[system] ?? shellForms.eos, command, output)).toBeUndefined();
});

test('a question is answered only after the command that saves', async () => {
  const asks = (command: string) => ({
    login: 'sw1#',
    [command]: `${command}\nProceed with it? [confirm]`,
    [afterEnter]: '\n[OK]\nsw1#',
  });
  const { line, simulated } = await open('ios-xe', asks('no vlan 300'));
  await expect(line.run(['no vlan 300'])).rejects.toThrow(/asks what nobody answers after: no vlan 300; .*\[confirm\]/);
  expect(simulated.commands.at(-1)).toBe('no vlan 300');
  const saving = await open('ios-xe', asks('write memory'));
  expect(await saving.line.run(['write memory'])).toEqual(['\n[OK]']);
});

test('what is left of an earlier answer is none of the next command’s', async () => {
  const late = {
    login: 'leaf1#',
    'interface Ethernet1': 'interface Ethernet1\nleaf1#interface Ethernet1\nleaf1#',
    'show clock': 'show clock\n12:00\nleaf1#',
  };
  const { line } = await open('eos', late);
  expect(await line.run(['interface Ethernet1', 'show clock'])).toEqual(['', '12:00']);
});

test('of a long text of a configuration no line is a refusal', async () => {
  const config = Array.from({ length: 20 }, (_, index) => `interface Ethernet${index}`).join('\n');
  const command = 'show running-config';
  const { line } = await open('nxos', {
    login: 'sw1#',
    [command]: `${command}\nbanner motd ^\nInvalid command users are logged\n^\n${config}\nsw1#`,
  });
  expect((await line.run([command]))[0]).toContain('interface Ethernet19');
});
