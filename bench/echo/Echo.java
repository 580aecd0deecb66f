import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;

/** What comes on stdin, back on stdout: no JSON, no frames. */
final class Echo {
    public static void main(String[] words) throws IOException {
        byte[] bytes = new byte[8192];
        try (FileInputStream in = new FileInputStream(FileDescriptor.in);
                FileOutputStream out = new FileOutputStream(FileDescriptor.out)) {
            for (int size; (size = in.read(bytes)) > 0; ) out.write(bytes, 0, size);
        }
    }
}
