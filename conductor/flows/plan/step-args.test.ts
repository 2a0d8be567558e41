import { expect, test } from 'vitest';
import { checkArgsInfo, checkSettingsOf, checkValues } from '#conductor/flows/plan/step-args.ts';

test('a RAID configuration is read before a machine boots for it', () => {
  const argsinfo = { raid_config: { description: 'what to build', required: true } };
  const check = (raid_level: string) => {
    const args = { raid_config: { logical_disks: [{ size_gb: 'MAX', raid_level, controller: 'software' }] } };
    const step = { interface: 'raid', step: 'apply_configuration', priority: 90, args };
    checkArgsInfo(step, argsinfo, { mayBeDisabled: false });
  };
  expect(() => check('1')).not.toThrow();
  expect(() => check('7')).toThrow(/raid\.apply_configuration: raid_config can't be used: .*raid_level/);
});

const ask = (name: string, args: Record<string, unknown>) => {
  const [stepInterface = '', step = ''] = name.split('.');
  return { interface: stepInterface, step, args };
};

test.each<[string, Record<string, unknown>, string]>([
  ['bios.apply_configuration', { settings: [] }, 'bios.apply_configuration: settings: '],
  ['bios.apply_configuration', { settings: [{ name: 'A' }] }, 'settings.0.value: '],
  ['deploy.clean_uefi_nvram', { match_patterns: [''] }, 'match_patterns.0: must not be empty'],
  ['deploy.clean_uefi_nvram', { match_patterns: [1] }, 'match_patterns.0: '],
  ['deploy.erase_devices', { only: { disks: [] } }, 'deploy.erase_devices: only.disks: '],
  ['deploy.inject_files', { files: [{ path: '/etc/' }] }, 'files.0.path: must name a file, not a folder'],
  ['deploy.write_image', { image_info: { id: 'x', urls: ['ftp://a/b'] } }, 'image_info.urls.0: '],
])('%s %j is refused', (name, args, says) => {
  expect(() => checkValues(ask(name, args))).toThrow(says);
});

test.each<[string, Record<string, unknown>]>([
  ['deploy.clean_uefi_nvram', {}],
  // of Python
  ['deploy.clean_uefi_nvram', { match_patterns: ['(?i)ubuntu'] }],
  ['deploy.inject_files', { files: [{ path: '/etc/motd', content: '', mode: '0644' }], verify_ca: false }],
  // what must be given the agent says
  ['bios.apply_configuration', {}],
  // somebody else's
  ['deploy.clean_uefi_nvram', { match_patterns: ['('], also: 1 }],
  ['deploy.polish', { with: 'wax' }],
])('%s %j is left to the agent', (name, args) => {
  expect(() => checkValues(ask(name, args))).not.toThrow();
});

test('what steps read of the node is read before, too', () => {
  const check = (name: string, driver_info: Record<string, unknown>, properties = {}) =>
    checkSettingsOf(ask(name, {}), { driver_info, properties });
  expect(() => check('deploy.erase_devices', { agent_erase_devices_iterations: 'twice' })).toThrow(
    /^deploy\.erase_devices: driver_info\.agent_erase_devices_iterations is "twice": /,
  );
  expect(() => check('deploy.burnin_cpu', { agent_burnin_cpu_timeout: 'long' })).toThrow('a number of seconds');
  expect(() => check('deploy.inject_files', {}, { inject_files: [{ path: 'x' }] })).toThrow('properties.inject_files');
  // another agent may find its partner by itself
  expect(() => check('deploy.burnin_network', {})).not.toThrow();
  expect(() => check('deploy.burnin_cpu', { agent_erase_devices_iterations: 'twice' })).not.toThrow();
});
