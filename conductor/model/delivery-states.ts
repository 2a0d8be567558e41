export type DeliveryState = 'pending' | 'delivered' | 'given up';
