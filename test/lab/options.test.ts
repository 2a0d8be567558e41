import { expect, test } from 'vitest';
import { parseLabCommand } from '#test/lab/options.ts';

test('defaults and flags', () => {
  expect(parseLabCommand([])).toEqual({
    firmware: 'uefi',
    bmc: 'redfish',
    nodes: 1,
    raid1: false,
    keep: false,
    help: false,
  });
  expect(parseLabCommand(['--firmware=bios', '--bmc', 'ipmi', '--nodes', '3', '--raid1', '--keep'])).toEqual({
    firmware: 'bios',
    bmc: 'ipmi',
    nodes: 3,
    raid1: true,
    keep: true,
    help: false,
  });
});

test.each([
  [['--firmware', 'efi'], "--firmware must be uefi or bios, not 'efi'"],
  [['--bmc', 'ilo'], "--bmc must be redfish or ipmi, not 'ilo'"],
  [['--nodes', '0'], "--nodes must be a number from 1 to 8, not '0'"],
  [['--nodes', 'two'], "--nodes must be a number from 1 to 8, not 'two'"],
  [['--firmwre', 'uefi'], "Unknown option '--firmwre'"],
  [['uefi'], "Unexpected argument 'uefi'"],
])('%s is refused', (args, message) => {
  expect(() => parseLabCommand(args)).toThrow(message);
});
