import { expect, test } from 'vitest';
import { settingsInForce } from '#conductor/start/config.ts';
import { Environment } from '#conductor/start/environment.ts';

test('each setting says its value and where that is from, and no secret', () => {
  const settings = settingsInForce({
    DATABASE_URL: 'postgres://baton:hunter2@db.example/baton?password=hunter2&sslmode=require',
    BATON_KERNEL_PARAMS: 'console=ttyS0 my_token=hunter2',
    BATON_PORT: '',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20hunter2,x-key=hunter2',
    HOME: '/root',
  });
  expect(settings.map(({ name }) => name)).toEqual(Object.keys(Environment.shape));
  expect(JSON.stringify(settings)).not.toContain('hunter2');
  const byName = new Map(settings.map((setting) => [setting.name, setting]));
  expect(byName.get('DATABASE_URL')).toMatchObject({
    value: 'postgres://******@db.example/baton?password=******&sslmode=require',
    from: 'environment',
  });
  expect(byName.get('BATON_KERNEL_PARAMS')?.value).toBe('console=ttyS0 my_token=******');
  expect(byName.get('OTEL_EXPORTER_OTLP_HEADERS')?.value).toBe('authorization=******,x-key=******');
  expect(byName.get('BATON_PORT')).toMatchObject({ value: '6385', default: '6385', from: 'default' });
});
