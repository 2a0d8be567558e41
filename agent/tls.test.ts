import { X509Certificate } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createServerCertificate } from '#agent/tls.ts';

const now = new Date('2026-11-21T08:00:00Z');

describe('createServerCertificate', () => {
  test.each([
    ['192.0.2.10', 'IP Address:192.0.2.10'],
    ['fd00::1', 'IP Address:FD00:0:0:0:0:0:0:1'],
    ['2001:db8:1:2:3:4:5:6', 'IP Address:2001:DB8:1:2:3:4:5:6'],
  ])('stands for %s and nothing else', (address, altName) => {
    const { certificatePem } = createServerCertificate({ address, hostName: 'node-1', now, curve: 'p384' });
    const certificate = new X509Certificate(certificatePem);
    expect(certificate.subjectAltName).toBe(altName);
    expect(certificate.subject).toBe('CN=node-1');
    expect(certificate.issuer).toBe('CN=node-1');
    expect(certificate.checkIP(address)).toBe(address);
    expect(certificate.checkIP('192.0.2.11')).toBeUndefined();
  });

  test('is signed by itself, valid from an hour ago for 30 days', () => {
    const { certificatePem, keyPem } = createServerCertificate({
      address: '192.0.2.10',
      hostName: 'h',
      now,
      curve: 'p384',
    });
    const certificate = new X509Certificate(certificatePem);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(certificate.validFromDate).toEqual(new Date('2026-11-21T07:00:00Z'));
    expect(certificate.validToDate).toEqual(new Date('2026-12-21T08:00:00Z'));
    expect(certificate.publicKey.asymmetricKeyDetails).toMatchObject({ namedCurve: 'secp384r1' });
    expect(certificate.ca).toBe(false);
    expect(keyPem).toContain('BEGIN PRIVATE KEY');
  });

  test('can be on the curve P-256', () => {
    const { certificatePem } = createServerCertificate({ address: '::1', hostName: 'h', now, curve: 'p256' });
    const certificate = new X509Certificate(certificatePem);
    expect(certificate.publicKey.asymmetricKeyDetails).toMatchObject({ namedCurve: 'prime256v1' });
    expect(certificate.verify(certificate.publicKey)).toBe(true);
  });

  test('is written right after 2049, when the time format changes', () => {
    const late = new Date('2050-01-10T00:00:00Z');
    const { certificatePem } = createServerCertificate({ address: '::1', hostName: 'h', now: late, curve: 'p384' });
    expect(new X509Certificate(certificatePem).validToDate).toEqual(new Date('2050-02-09T00:00:00Z'));
  });

  test('refuses a host name as address', () => {
    expect(() => createServerCertificate({ address: 'node-1', hostName: 'h', now, curve: 'p384' })).toThrow(
      'needs an IP address',
    );
  });
});
