import { expect, test } from 'vitest';
import { parseLabCommand } from '#test/lab/options.ts';

test('defaults and flags', () => {
  expect(parseLabCommand([])).toEqual({
    firmware: 'uefi',
    bmc: 'redfish',
    boot: 'pxe',
    switch: 'ovs',
    tpm: false,
    nodes: 1,
    raid1: false,
    site: false,
    redeploy: false,
    keep: false,
    help: false,
  });
  expect(parseLabCommand(['--firmware=bios', '--bmc', 'ipmi', '--nodes', '3', '--raid1', '--keep'])).toEqual({
    firmware: 'bios',
    bmc: 'ipmi',
    boot: 'pxe',
    switch: 'ovs',
    tpm: false,
    nodes: 3,
    raid1: true,
    site: false,
    redeploy: false,
    keep: true,
    help: false,
  });
  expect(parseLabCommand(['--boot', 'vmedia', '--secure-boot', 'microsoft', '--tpm'])).toMatchObject({
    secureBoot: 'microsoft',
    tpm: true,
  });
  expect(parseLabCommand(['--site'])).toMatchObject({ site: true, nodes: 3 });
  expect(parseLabCommand(['--redeploy'])).toMatchObject({ redeploy: true, nodes: 2 });
});

test.each([
  [['--firmware', 'efi'], "--firmware must be uefi or bios, not 'efi'"],
  [['--bmc', 'ilo'], "--bmc must be redfish or ipmi, not 'ilo'"],
  [['--boot', 'vmedia', '--bmc', 'ipmi'], '--boot vmedia needs --bmc redfish and no MODE'],
  [['--boot', 'http', '--firmware', 'bios'], '--boot http needs --firmware uefi'],
  [['--boot', 'vmedia', '--raid1'], '--boot vmedia needs --bmc redfish and no MODE'],
  [['--boot', 'vmedia', '--secure-boot', 'debian'], "--secure-boot must be microsoft, not 'debian'"],
  [['--secure-boot', 'microsoft'], '--secure-boot and --tpm need --firmware uefi and --boot vmedia or http'],
  [['--tpm'], '--secure-boot and --tpm need --firmware uefi and --boot vmedia or http'],
  [
    ['--tpm', '--boot', 'vmedia', '--firmware', 'bios'],
    '--secure-boot and --tpm need --firmware uefi and --boot vmedia or http',
  ],
  [['--switch', 'eos'], "--switch must be ovs or linux, not 'eos'"],
  [['--switch', 'linux', '--redeploy'], '--switch linux needs no --redeploy, which looks into Open vSwitch'],
  [['--nodes', '0'], "--nodes must be a number from 1 to 8, not '0'"],
  [['--nodes', 'two'], "--nodes must be a number from 1 to 8, not 'two'"],
  [['--site', '--raid1'], '--raid1 or --site must go: one of them at a time'],
  [['--redeploy', '--site'], '--site or --redeploy must go: one of them at a time'],
  [['--site', '--nodes', '2'], '--nodes must go: --site has its own machines and their documents'],
  [['--redeploy', '--nodes', '2'], '--nodes must go: --redeploy has its own machines and their documents'],
  [['--firmwre', 'uefi'], "Unknown option '--firmwre'"],
  [['uefi'], "Unexpected argument 'uefi'"],
])('%s is refused', (args, message) => {
  expect(() => parseLabCommand(args)).toThrow(message);
});
