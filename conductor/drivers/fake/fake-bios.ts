import { type BiosSetting, bareSetting, type WantedBiosSetting } from '#shared/bios/bios-setting.ts';

/** The firmware of a fake machine: a few settings of every type, which take effect when it powers on or resets. */
export interface FakeBios {
  settings: readonly BiosSetting[];
  pending: readonly WantedBiosSetting[];
  defaultsPending: boolean;
}

const common = { reset_required: true, read_only: false, unique: false };

const defaults: readonly BiosSetting[] = [
  { ...bareSetting('BootMode', 'Uefi'), ...common, attribute_type: 'Enumeration', allowable_values: ['Uefi', 'Bios'] },
  {
    ...bareSetting('SysProfile', 'PerfPerWatt'),
    ...common,
    attribute_type: 'Enumeration',
    allowable_values: ['PerfPerWatt', 'Performance', 'Custom'],
  },
  { ...bareSetting('NumCores', '8'), ...common, attribute_type: 'Integer', lower_bound: 1, upper_bound: 8 },
  { ...bareSetting('Virtualization', 'true'), ...common, attribute_type: 'Boolean' },
  { ...bareSetting('AssetTag', ''), ...common, attribute_type: 'String', min_length: 0, max_length: 63, unique: true },
  { ...bareSetting('BiosVersion', '1.0'), ...common, attribute_type: 'String', read_only: true },
];

export function createFakeBios(): FakeBios {
  return { settings: defaults, pending: [], defaultsPending: false };
}

/** What the firmware does at power-on. */
export function bootFakeBios(bios: FakeBios): void {
  const base = bios.defaultsPending ? defaults : bios.settings;
  const values = new Map(bios.pending.map(({ name, value }) => [name, value]));
  bios.settings = base.map((setting) => ({ ...setting, value: values.get(setting.name) ?? setting.value }));
  bios.pending = [];
  bios.defaultsPending = false;
}
