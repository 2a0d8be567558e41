import { expect, test } from 'vitest';
import { replaceIdentities } from '#conductor/model/recordings/replace-identities.ts';
import { isPlaceholder, isPlaceholderWwn } from '#shared/disks/placeholders.ts';

const texts = {
  inventory: JSON.stringify({
    interfaces: [
      { mac_address: 'AA:BB:CC:0a:00:01', ipv4_address: '10.1.2.3', ipv6_address: 'fe80::a8bb:ccff:fe0a:1' },
    ],
    disks: [
      { serial: 'S4EVNF0M123456', wwn: '0x5000c500a1b2c3d4', by_path: '/dev/disk/by-id/ata-X_S4EVNF0M123456' },
      { serial: 'Default string', model: 'SAMSUNG MZ7LH480' },
    ],
    system_vendor: {
      product_name: 'PowerEdge R640',
      serial_number: 'ABC1234',
      baton_system_uuid: '4c4c4544-0042-4410-8031-b4c04f334b32',
    },
  }),
  'ipmitool fru print': ' Product Serial        : ABC1234\n Board Serial number : CN7016359B00AB',
  'show lldp neighbors': 'Chassis id: aabb.cc0a.0001\nMask 255.255.255.0 of 10.1.2.3, 10.9.9.9 at 12:00:07',
};

test('the same stays the same in all texts, and nobody’s own is left', () => {
  const replaced = replaceIdentities(texts);
  const all = Object.values(replaced).join('\n');
  for (const own of ['S4EVNF0M123456', '5000c500a1b2c3d4', 'ABC1234', 'CN7016359B00AB', '10.1.2.3', 'fe80', '4c4c4544'])
    expect(all).not.toContain(own);
  expect(all).not.toMatch(/aa:?bb\.?:?cc/i);
  const {
    interfaces,
    disks,
    system_vendor: vendor,
  } = JSON.parse(replaced.inventory ?? '') as {
    interfaces: { mac_address: string; ipv4_address: string }[];
    disks: { serial: string; wwn: string; by_path: string; model?: string }[];
    system_vendor: { product_name: string; serial_number: string };
  };
  expect(disks[0]?.serial).toHaveLength('S4EVNF0M123456'.length);
  expect(disks[0]?.by_path).toBe(`/dev/disk/by-id/ata-X_${disks[0]?.serial}`);
  expect(disks[0]?.wwn).toMatch(/^0x5000c50a+\d\d$/);
  expect(disks[1]).toMatchObject({ serial: 'Default string', model: 'SAMSUNG MZ7LH480' });
  expect(vendor.product_name).toBe('PowerEdge R640');
  expect(replaced['ipmitool fru print']).toContain(`Product Serial        : ${vendor.serial_number}`);
  expect(interfaces[0]).toMatchObject({ mac_address: '00:00:5E:00:53:01', ipv4_address: '192.0.2.2' });
  expect(replaced['show lldp neighbors']).toContain('Chassis id: 0000.5e00.5301');
  expect(replaced['show lldp neighbors']).toMatch(/255\.255\.255\.0 of 192\.0\.2\.2, 192\.0\.2\.3 at 12:00:07$/);
});

test('what udev makes of a serial number is made of the other one, and no other one reads as none', () => {
  const {
    sda = '',
    sdb = '',
    lsblk = '',
  } = replaceIdentities({
    sda: [
      'ID_SERIAL=SAMSUNG_MZ7LH480_S4EVNF0M123456',
      'ID_SERIAL_SHORT=S4EVNF0M123456',
      'ID_WWN=0x5000C500A1B2C3D4',
      'ID_WWN_VENDOR_EXTENSION=0x0001000000000000',
      'ID_PATH=pci-0000:05:00.0-sas-0x5001438aaaaaaa81-lun-0',
      'DEVLINKS=/dev/disk/by-id/wwn-0x5000c500a1b2c3d4 /dev/disk/by-id/ata-SAMSUNG_MZ7LH480_S4EVNF0M123456',
    ].join('\n'),
    sdb: 'ID_SERIAL=35000cca0541ae674\nID_SERIAL_SHORT=5000cca0541ae674\nID_SCSI_SERIAL=KJGATM4R\nID_WWN=0x5000000000000001\n',
    lsblk: JSON.stringify({ serial: 'S4EVNF0M123456', wwn: 'naa.5000c500a1b2c3d4' }),
  });
  const [, short = ''] = /^ID_SERIAL_SHORT=(.*)$/m.exec(sda) ?? [];
  expect(sda).toContain(`ID_SERIAL=SAMSUNG_MZ7LH480_${short}\n`);
  expect(sda).toContain(`ata-SAMSUNG_MZ7LH480_${short}`);
  const { serial, wwn } = JSON.parse(lsblk) as { serial: string; wwn: string };
  expect(serial).toBe(short);
  expect(isPlaceholder(short)).toBe(false);
  expect(wwn).toMatch(/^naa\.5000c50/);
  expect(isPlaceholderWwn(wwn)).toBe(false);
  expect(sda.match(new RegExp(wwn.slice(4), 'g'))).toHaveLength(2);
  const [, ofSas = ''] = /^ID_SERIAL_SHORT=(.*)$/m.exec(sdb) ?? [];
  expect(sdb).toContain(`ID_SERIAL=3${ofSas}\n`);
  expect(sdb).toContain('ID_WWN=0x5000000000000001');
  for (const own of ['S4EVNF0M123456', '5000c500a1b2c3d4', '5001438aaaaaaa81', '5000cca0541ae674', 'KJGATM4R'])
    expect(`${sda}${sdb}${lsblk}`.toLowerCase()).not.toContain(own.toLowerCase());
});

test('a serial number that is a MAC address stays one', () => {
  const inventory = JSON.stringify({ mac_address: '52:54:00:05:00:00', serial_number: '52:54:00:05:00:00' });
  expect(JSON.parse(replaceIdentities({ inventory }).inventory ?? '')).toEqual({
    mac_address: '00:00:5e:00:53:01',
    serial_number: '00:00:5e:00:53:01',
  });
});
