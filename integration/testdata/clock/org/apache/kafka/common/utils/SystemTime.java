package org.apache.kafka.common.utils;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Supplier;

import org.apache.kafka.common.errors.TimeoutException;

/**
 * The broker's clock for a test of clock steps: the machine's, moved by as many milliseconds as a file says. What it
 * goes by now is in a file beside that.
 */
class SystemTime implements Time {
    private static final SystemTime SYSTEM_TIME = new SystemTime();

    private volatile long step;

    public static SystemTime getSystemTime() {
        return SYSTEM_TIME;
    }

    private SystemTime() {
        Path file = Path.of(System.getProperty("tollgate.clock"));
        Path taken = Path.of(file + ".taken");
        Thread reader = new Thread(() -> {
            while (true) {
                try {
                    step = Long.parseLong(Files.readString(file).trim());
                    Files.writeString(taken, Long.toString(step));
                    Thread.sleep(10);
                } catch (Exception e) {
                    // A file that is being written: the next look will do.
                }
            }
        });
        reader.setDaemon(true);
        reader.start();
    }

    @Override
    public long milliseconds() {
        return System.currentTimeMillis() + step;
    }

    @Override
    public long nanoseconds() {
        return System.nanoTime();
    }

    @Override
    public void sleep(long ms) {
        Utils.sleep(ms);
    }

    @Override
    public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) throws InterruptedException {
        synchronized (object) {
            while (!condition.get()) {
                long left = deadlineMs - milliseconds();
                if (left <= 0) {
                    throw new TimeoutException("Condition not satisfied before deadline");
                }
                object.wait(left);
            }
        }
    }
}
