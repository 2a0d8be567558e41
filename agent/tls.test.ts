import { X509Certificate } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createServerCertificate } from '#agent/tls.ts';

describe('createServerCertificate', () => {
  test.each([
    ['192.0.2.10', 'IP Address:192.0.2.10'],
    ['fd00::1', 'IP Address:FD00:0:0:0:0:0:0:1'],
    ['2001:db8:1:2:3:4:5:6', 'IP Address:2001:DB8:1:2:3:4:5:6'],
  ])('stands for %s and nothing else', (address, altName) => {
    const { certificatePem } = createServerCertificate({ address, hostName: 'node-1', curve: 'p384' });
    const certificate = new X509Certificate(certificatePem);
    expect(certificate.subjectAltName).toBe(altName);
    expect(certificate.subject).toBe('CN=node-1');
    expect(certificate.issuer).toBe('CN=node-1');
    expect(certificate.checkIP(address)).toBe(address);
    expect(certificate.checkIP('192.0.2.11')).toBeUndefined();
  });

  test('is signed by itself, and valid whatever a server’s clock says', () => {
    const { certificatePem, keyPem } = createServerCertificate({
      address: '192.0.2.10',
      hostName: 'h',
      curve: 'p384',
    });
    const certificate = new X509Certificate(certificatePem);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(certificate.validFromDate).toEqual(new Date('1970-01-01T00:00:00Z'));
    expect(certificate.validToDate).toEqual(new Date('9999-12-31T23:59:59Z'));
    expect(certificate.publicKey.asymmetricKeyDetails).toMatchObject({ namedCurve: 'secp384r1' });
    expect(certificate.ca).toBe(false);
    expect(keyPem).toContain('BEGIN PRIVATE KEY');
  });

  test('can be on the curve P-256', () => {
    const { certificatePem } = createServerCertificate({ address: '::1', hostName: 'h', curve: 'p256' });
    const certificate = new X509Certificate(certificatePem);
    expect(certificate.publicKey.asymmetricKeyDetails).toMatchObject({ namedCurve: 'prime256v1' });
    expect(certificate.verify(certificate.publicKey)).toBe(true);
  });

  test('refuses a host name as address', () => {
    expect(() => createServerCertificate({ address: 'node-1', hostName: 'h', curve: 'p384' })).toThrow(
      'needs an IP address',
    );
  });
});
