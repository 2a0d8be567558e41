import { expect, test } from 'vitest';
import { parseHealth, readHealth } from '#agent/hardware/inventory-health.ts';
import { ranWell } from '#agent/testing/fake-services.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';

const unsaid = {
  passed: null,
  temperature_c: null,
  power_on_hours: null,
  percent_used: null,
  bad_sectors: null,
  media_errors: null,
};
const ata = {
  firmware_version: 'HXT7904Q',
  smart_status: { passed: false },
  ata_smart_attributes: {
    table: [
      { id: 5, name: 'Reallocated_Sector_Ct', raw: { value: 24, string: '24' } },
      { id: 9, name: 'Power_On_Hours', raw: { value: 31_022, string: '31022' } },
      { id: 197, name: 'Current_Pending_Sector', raw: { value: 8, string: '8' } },
    ],
  },
  power_on_time: { hours: 31_022 },
  temperature: { current: 41 },
};
const nvme = {
  firmware_version: 'GDC5902Q',
  smart_status: { passed: true, nvme: { value: 0 } },
  nvme_smart_health_information_log: { critical_warning: 0, percentage_used: 3, media_errors: 0 },
  temperature: { current: 33 },
  power_on_time: { hours: 12 },
};
const scsi = {
  scsi_revision: 'E003',
  smart_status: { passed: true },
  scsi_grown_defect_list: 2,
  endurance_used: { current_percent: 1 },
};

test.each([
  ['ATA', ata, 'HXT7904Q', { passed: false, temperature_c: 41, power_on_hours: 31_022, bad_sectors: 32 }],
  ['NVMe', nvme, 'GDC5902Q', { passed: true, temperature_c: 33, power_on_hours: 12, percent_used: 3, media_errors: 0 }],
  ['SCSI', scsi, 'E003', { passed: true, percent_used: 1, bad_sectors: 2 }],
])('a disk of %s', (_kind, report, firmware, health) => {
  expect(parseHealth(JSON.stringify(report))).toEqual({ firmware, health: { ...unsaid, ...health } });
});

test('a field that is otherwise than expected costs itself alone', () => {
  const odd = { ...ata, temperature: 'warm', ata_smart_attributes: { table: 5 }, smart_status: {} };
  expect(parseHealth(JSON.stringify(odd)).health).toEqual({ ...unsaid, power_on_hours: 31_022 });
});

test('a disk that says nothing, prints no JSON or lets wait is one without', async () => {
  const none = { firmware: null, health: null };
  const virtual = { smartctl: { exit_status: 1, messages: [{ string: '/dev/vda: Unable to detect device type' }] } };
  const says = (text: string) => readHealth(() => Promise.resolve(ranWell(text)), '/dev/vda', silentLog);
  expect(await says(JSON.stringify(virtual))).toEqual(none);
  expect(await says('smartctl: not found')).toEqual(none);
  const dead = () => Promise.reject(new AppError('timeout', 'smartctl took longer than 20 s'));
  expect(await readHealth(dead, '/dev/sda', silentLog)).toEqual(none);
});
