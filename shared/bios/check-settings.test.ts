import { describe, expect, test } from 'vitest';
import { BiosSettingsArgument, bareSetting } from '#shared/bios/bios-setting.ts';
import { checkSettings, hasValue, listDoubtful } from '#shared/bios/check-settings.ts';

const known = [
  { ...bareSetting('BootMode', 'Uefi'), attribute_type: 'Enumeration', allowable_values: ['Uefi', 'Bios'] },
  { ...bareSetting('Cores', '8'), attribute_type: 'Integer', lower_bound: 1, upper_bound: 16 },
  { ...bareSetting('Turbo', 'true'), attribute_type: 'Boolean' },
  { ...bareSetting('AssetTag', ''), attribute_type: 'String', min_length: 0, max_length: 4 },
  { ...bareSetting('AdminPassword', null), attribute_type: 'Password', min_length: 8, max_length: 32 },
  { ...bareSetting('Link', 'Auto'), attribute_type: 'Enumeration', allowable_values: ['Auto', 'Gen3', 'Gen4'] },
  { ...bareSetting('Version', '1.0'), attribute_type: 'String', read_only: true },
  {
    ...bareSetting('Mode', 'ModeA'),
    attribute_type: 'Enumeration',
    allowable_values: ['ModeA', 'Dual Link', 'Enabled'],
  },
];

describe('checkSettings', () => {
  test('what fits is taken', () => {
    const wanted = [
      { name: 'BootMode', value: 'Bios' },
      { name: 'Cores', value: '16' },
      { name: 'Turbo', value: 'False' },
      { name: 'AssetTag', value: 'rack' },
      { name: 'AdminPassword', value: 'long enough' },
      { name: 'Version', value: '1.0' },
    ];
    expect(() => checkSettings(known, wanted)).not.toThrow();
  });

  test.each([
    ['BootMode', 'Legacy', "BootMode: 'Legacy' is not possible; it must be one of Uefi, Bios"],
    ['Cores', '17', "Cores: '17' is not possible; it must be an integer from 1 up to 16"],
    ['Cores', 'many', "Cores: 'many' is not possible"],
    ['Turbo', 'on', "Turbo: 'on' is neither true nor false"],
    ['AssetTag', 'rack7', "AssetTag: 'rack7' has 5 characters; it must have at least 0 and at most 4"],
    ['Version', '2.0', 'Version: it is read only (its value is 1.0)'],
    ['bootmode', 'Uefi', 'did you mean BootMode?'],
    ['Nope', 'x', 'no such setting; settings are BootMode, Cores'],
  ])('%s = %s is refused', (name, value, message) => {
    expect(() => checkSettings(known, [{ name, value }])).toThrow(message);
  });

  test.each([
    ['Version', '2.0', 'it is read only (its value is 1.0)'],
    ['BootMode', 'Legacy', "'Legacy' is not possible; it must be one of Uefi, Bios"],
    ['BootMode', 'Bois', "'Bois' is not possible; it must be one of Uefi, Bios; did you mean Bios?"],
    ['Link', 'Gen5', "'Gen5' is not possible; it must be one of Auto, Gen3, Gen4"],
    ['Mode', 'ModeB', "'ModeB' is not possible; it must be one of ModeA, Dual Link, Enabled; did you mean ModeA?"],
    ['Mode', 'Enable', "'Enable' is not possible; it must be one of ModeA, Dual Link, Enabled; did you mean Enabled?"],
    ['Cores', '17', "'17' is not possible; it must be an integer from 1 up to 16"],
    ['AssetTag', 'rack7', "'rack7' has 5 characters; it must have at least 0 and at most 4"],
    ['AdminPassword', 'hunter2', 'the password has 7 characters; it must have at least 8 and at most 32'],
  ])('a registry advises against %s = %s, and the BMC decides', (name, value, advice) => {
    expect(() => checkSettings(known, [{ name, value }], 'registry')).not.toThrow();
    expect(
      listDoubtful(known, [
        { name, value },
        { name: 'Cores', value: '2' },
      ]),
    ).toEqual([{ name, advice }]);
    expect(listDoubtful(known, [{ name: 'Version', value: '1.0' }])).toEqual([]);
  });

  test('advice shows no password, whatever its type', () => {
    const hash = { ...bareSetting('SHA256SetupPassword', null), attribute_type: 'String', max_length: 4 };
    const [doubtful] = listDoubtful([hash], [{ name: hash.name, value: 'hunter2' }]);
    expect(doubtful?.advice).toBe('the password has 7 characters; it must have at most 4');
  });

  test.each([
    ['BootMode', 'uefi', 'did you mean Uefi?'],
    ['Link', 'gen_4', 'did you mean Gen4?'],
    ['Mode', 'dual-link', 'did you mean Dual Link?'],
    ['Mode', ' ModeA', 'did you mean ModeA?'],
    ['Cores', 'many', "Cores: 'many' is not possible"],
    ['Turbo', 'on', "Turbo: 'on' is neither true nor false"],
    ['Coers', '4', 'did you mean Cores?'],
    ['Nope', 'x', 'no such setting; settings are BootMode, Cores'],
  ])('%s = %s is spelt otherwise, or nothing that a BMC takes: refused before', (name, value, message) => {
    expect(() => checkSettings(known, [{ name, value }], 'registry')).toThrow(message);
  });

  test('a value that the BMC shows is taken though its registry knows none such', () => {
    const fan = { ...bareSetting('Fan', 'Lows'), attribute_type: 'Enumeration', allowable_values: ['Low', 'High'] };
    expect(() => checkSettings([fan], [{ name: 'Fan', value: 'Lows' }], 'registry')).not.toThrow();
    expect(listDoubtful([fan], [{ name: 'Fan', value: 'Lows' }])).toEqual([]);
    expect(() => checkSettings([fan], [{ name: 'Fan', value: 'HIGH' }], 'registry')).toThrow('did you mean High?');
  });

  test('every fault is named, and no password', () => {
    const wanted = [
      { name: 'Cores', value: '0' },
      { name: 'AdminPassword', value: 'hunter2' },
    ];
    expect(() => checkSettings(known, wanted)).toThrow(/Cores: .*; AdminPassword: the password has 7 characters/);
    expect(() => checkSettings(known, wanted)).not.toThrow(/hunter2/);
  });

  test('where nothing is known nothing is refused', () => {
    expect(() => checkSettings([], [{ name: 'Nope', value: 'x' }])).not.toThrow();
    expect(() => checkSettings([bareSetting('X', '1')], [{ name: 'X', value: 'anything' }])).not.toThrow();
  });
});

test('hasValue compares by type', () => {
  expect(
    known.map((setting) =>
      hasValue(setting, ['Uefi', '08', 'TRUE', '', 'x', 'Auto', '1', 'Enabled'][known.indexOf(setting)] ?? ''),
    ),
  ).toEqual([true, true, true, true, false, true, false, false]);
  expect(hasValue(undefined, '')).toBe(false);
});

test('the argument takes text, numbers and booleans, and no name twice', () => {
  const parsed = BiosSettingsArgument.parse([
    { name: 'a', value: 1 },
    { name: 'b', value: true },
  ]);
  expect(parsed).toEqual([
    { name: 'a', value: '1' },
    { name: 'b', value: 'true' },
  ]);
  const twice = [
    { name: 'a', value: 1 },
    { name: 'a', value: 2 },
  ];
  expect(BiosSettingsArgument.safeParse(twice).error?.issues[0]?.message).toBe('a is given twice');
  expect(BiosSettingsArgument.safeParse([]).success).toBe(false);
});
